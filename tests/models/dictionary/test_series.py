"""A series as the dictionary sees it: times in gaps, values around zero, repeats averaged."""

import pytest
import torch

from convcnp.models.dictionary.series import prepared, scattered


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_times_are_in_gaps_and_values_standardised():
    series = prepared(numbers(100.0, 110.0, 120.0, 140.0), numbers(-1.0, 2.0, 5.0, 6.0), None)
    assert series.gap == pytest.approx(10.0)
    assert (series.x.diff() - numbers(1.0, 1.0, 2.0)).abs().max() < 1e-12
    back = series.level[0] + series.scale[0] * series.z[0]
    assert (back - numbers(-1.0, 2.0, 5.0, 6.0)).abs().max() < 1e-12
    assert len(series.z) == 1
    assert not series.has_logarithms


def test_repeated_times_are_averaged_and_counted():
    series = prepared(numbers(0.0, 1.0, 1.0, 2.0), numbers(-5.0, 1.0, 3.0, 0.0), None)
    assert series.num_points == 3
    assert series.count.tolist() == [1.0, 2.0, 1.0]
    assert (series.level[0] + series.scale[0] * series.z[0])[1].item() == pytest.approx(2.0)
    assert series.scatter[0, 1] > 0


def test_the_order_of_observations_does_not_matter():
    x, y = numbers(3.0, 1.0, 2.0), numbers(1.0, -2.0, 4.0)
    one, other = prepared(x, y, None), prepared(x.flip(0), y.flip(0), None)
    assert torch.equal(one.x, other.x)
    assert torch.equal(one.z, other.z)


@pytest.mark.parametrize(("count", "places"), [(8, 9), (32, 33), (4096, 4100), (8, 8), (8, 3)])
def test_scattered_places_are_as_many_as_asked(count, places):
    found = scattered(count, places)
    assert found == sorted(set(found))
    assert len(found) == min(count, places)
    assert found[0] >= 0 and found[-1] < places


def test_points_far_apart_are_from_all_over_a_long_series():
    short, long = (prepared(x, x.sin()) for x in map(torch.arange, (500.0, 50_000.0)))
    assert short.far_apart(48) == []
    (found,) = long.far_apart(48)
    assert found.num_points == 48
    assert found.span > 0.9 * long.span
    assert found.x.diff().unique().numel() > 1
    (many,) = prepared(torch.arange(2000.0), torch.arange(2000.0).sin()).far_apart(240)
    assert (found.step, many.step) == (None, 1.0)  # what is slower to look up is not


def test_times_that_single_precision_could_not_tell_are_not_seen_together():
    x = torch.cat([torch.arange(500.0), 1e9 + torch.arange(500.0)]).double()
    assert prepared(x, x.sin()).far_apart(48) == []


def test_the_typical_gap_of_bursts_is_that_within_them_and_of_pairs_that_between_them():
    bursts = torch.cat([start + torch.arange(200.0) for start in (0, 86_400, 200_000)])
    assert prepared(bursts, bursts.sin()).gap == 1
    pairs = torch.arange(100.0).repeat_interleave(2) + 1e-4 * (torch.arange(200) % 2)
    assert prepared(pairs, pairs.sin()).gap == pytest.approx(1 / 16, rel=1e-3)
    far = torch.tensor([0.0, 1e-9, 2e-9, 3e-9, 1.0], dtype=torch.float64)
    assert prepared(far, far.sin()).gap == 2.0**-20
    assert prepared(torch.ones(3), torch.ones(3)).gap == 1
