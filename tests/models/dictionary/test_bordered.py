"""Covariances bordered by means and values, and their factors."""

import math

import pytest
import torch

from convcnp.models.dictionary.bordered import Bordered, Frame
from convcnp.models.dictionary.catalogue import assembled
from convcnp.models.dictionary.kernels import EQ, MATERN12
from convcnp.models.dictionary.series import Series, prepared

NOISES = (0.1, 0.5, 2.0)


def observed(n: int = 12, positive: bool = False) -> Series:
    generator = torch.Generator().manual_seed(0)
    x = (n * torch.rand(n, generator=generator, dtype=torch.float64)).sort().values
    y = torch.randn(n, generator=generator, dtype=torch.float64)
    return prepared(x, y.exp() if positive else y)


def several():
    bases = [(EQ, 3.0, math.inf, 0.0), (MATERN12, 5.0, math.inf, 0.0)]
    return assembled([({base: 1.0}, NOISES) for base in bases], [0.0] * 2, [0] * 2)


@pytest.mark.parametrize("n", [12, 140])  # the larger one is made a multiple of eight
def test_a_factor_is_that_of_the_covariance_and_whitens_means_and_values(n):
    series, entries = observed(n, positive=True), several()
    frame = Frame.of(series)
    bordered = Bordered.of(series, frame)
    ((factor, failed),) = bordered.factors(entries)
    lag = (series.x[:, None] - series.x).abs()
    smooth, rough = torch.exp(-0.5 * (lag / 3) ** 2), torch.exp(-lag / 5)
    own = torch.eye(n).double()
    dense = torch.stack([kernel + s * own for kernel in (smooth, rough) for s in NOISES])
    lower = factor[:, :n, :n]
    assert not failed.any() and bordered.num_means == 2
    torch.testing.assert_close(lower @ lower.mT, dense)
    border = torch.cat([frame.means(series.x), series.z])
    torch.testing.assert_close(
        lower @ factor[:, n : n + len(border), :n].mT, border.mT.expand(6, -1, -1)
    )


def test_some_entries_after_the_others_have_the_same_factors():
    series, entries = observed(), several()
    ((together, _),) = Bordered.of(series, Frame.of(series)).factors(entries)
    some = Bordered.of(series, Frame.of(series), 4).factors(entries)
    apart = torch.cat([factor.clone() for factor, _ in some])
    assert torch.equal(apart, together)


def test_what_has_no_factor_is_told():
    x = torch.arange(3.0)
    series = prepared(x, x**2, torch.tensor([1.0, 1.0, 1.0]))
    impossible = Series(**{**vars(series), "extra": torch.tensor([0.0, -9.0, 0.0]).double()})
    ((_, failed),) = Bordered.of(impossible, Frame.of(series)).factors(several())
    assert failed.tolist() == [2, 2, 2, 2, 2, 2]
