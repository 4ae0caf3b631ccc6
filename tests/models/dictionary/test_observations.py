"""The forms in which values are seen: as they are, and as logarithms, with a shift or none."""

import pytest
import torch

from convcnp.models.dictionary.series import prepared


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_positive_values_have_logarithms_as_well():
    y = numbers(1.0, 10.0, 100.0)
    series = prepared(numbers(0.0, 1.0, 2.0), y, None)
    assert series.has_logarithms
    back = series.level[1] + series.scale[1] * series.z[1]
    assert (back - y.log()).abs().max() < 1e-12


@pytest.mark.parametrize("first", [0.0, 1.0])
def test_values_that_come_near_zero_have_logarithms_with_a_shift(first):
    y = torch.cat([numbers(first, 10.0, 10.0 + 1e-9), torch.linspace(20, 100, 9).double()])
    series = prepared(torch.arange(12.0).double(), y, None)
    assert series.has_logarithms is (first > 0)
    assert len(series.limits) == series.is_log.sum() == (3 if first else 2)
    for form in series.is_log.nonzero()[:, 0]:
        back = (series.level[form] + series.scale[form] * series.z[form]).exp()
        assert (back - series.shift[form] - y).abs().max() < 1e-9
        # The density of z is that of y over |dz / dy|.
        slope = 1 / (y + series.shift[form]) / series.scale[form]
        torch.testing.assert_close(series.log_volume[form], slope.log())


def test_of_zeros_and_ones_no_form_is_the_more_likely_for_its_zeros():
    y = (torch.arange(40) % 3 == 0).double()
    series = prepared(torch.arange(40.0).double(), y, None)
    torch.testing.assert_close(series.z, series.z[:1].expand_as(series.z))
    volume = series.log_volume.sum(1)
    assert len(volume) == 3
    assert (volume[1:] < volume[0]).all()


def test_of_few_values_there_is_no_shift():
    assert not prepared(numbers(0.0, 1.0, 2.0), numbers(0.0, 1.0, 7.0), None).shift.any()


def test_values_that_are_far_from_zero_or_on_both_sides_have_no_shift():
    x = torch.arange(10.0).double()
    for y in (100 + 3 * x, x - 0.1):
        assert not prepared(x, y, None).shift.any()
