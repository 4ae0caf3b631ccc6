"""Errors of measurement: what an observation is worth, and outputs that are compressed."""

import pytest
import torch

from convcnp.core.heads import GaussianHead, MixtureHead
from convcnp.core.log_mixture import LogMixtureHead
from convcnp.core.precision import ExpandedHead, Precision, compressed
from convcnp.core.predictive import GaussianPredictive, MixturePredictive
from convcnp.errors import SettingError

SEEN = torch.tensor([[[True, True], [True, False]]])


def test_an_exact_observation_counts_as_one_and_a_poor_one_less():
    precision = Precision(2)
    with torch.no_grad():
        precision.log_tolerance.copy_(torch.tensor([2.0, 3.0]).log())
    error = torch.tensor([[[2.0, 0.0], [6.0, 1.0]]])
    weight, level = precision(error, SEEN)
    assert weight.flatten().tolist() == pytest.approx([0.5, 1.0, 0.1, 0.0])
    assert level.flatten().tolist() == pytest.approx([0.6931, 0.0, 1.3863, 0.0], abs=1e-4)


def test_errors_of_zero_are_no_errors():
    precision = Precision(2)
    for found, expected in zip(
        precision(torch.zeros(1, 2, 2), SEEN), precision(None, SEEN), strict=True
    ):
        assert torch.equal(found, expected)


def test_a_huge_error_leaves_nothing():
    weight, _ = Precision(1)(torch.tensor([[[1e12]]]), torch.ones(1, 1, 1) > 0)
    assert weight.item() < 1e-20


def test_compressed_errors_are_those_of_the_derivative():
    y, error = torch.tensor([[-300.0, 0.0, 2.0]]).double(), torch.tensor([[1e-3] * 3]).double()
    small, small_error = compressed(y, error)
    expected = (torch.asinh(y + error) - torch.asinh(y - error)) / 2
    torch.testing.assert_close(small_error, expected, rtol=1e-6, atol=0)
    assert compressed(y, None)[1] is None
    torch.testing.assert_close(small.sinh(), y)


@pytest.mark.parametrize("base", [GaussianHead(0.1), MixtureHead(3, 0.1)])
def test_expanding_undoes_the_compression_near_the_mean(base):
    head, mask = ExpandedHead(base), torch.ones(1, 4, 2) > 0
    raw = torch.randn(1, 4, head.channels(2), generator=torch.Generator().manual_seed(0))
    small, large = base(raw, mask), head(raw, mask)
    if isinstance(small, GaussianPredictive):
        parts = (small.mean, small.stddev, large.mean, large.stddev)
    else:
        assert isinstance(large, MixturePredictive)
        parts = (small.means, small.stddevs, large.means, large.stddevs)
    mean, stddev, expanded, spread = parts
    torch.testing.assert_close(expanded, mean.sinh())
    step = 1e-3 * stddev
    torch.testing.assert_close(
        ((mean + step).sinh() - (mean - step).sinh()) / 2e-3, spread, rtol=1e-3, atol=1e-3
    )


def test_a_mean_far_away_stays_a_number():
    raw = torch.tensor([[[1e6, 0.0]]])
    found = ExpandedHead(GaussianHead())(raw, torch.ones(1, 1, 1) > 0)
    assert found.log_prob(torch.zeros(1, 1, 1)).isfinite().all()


def test_other_heads_are_refused():
    head = ExpandedHead(LogMixtureHead(2))
    with pytest.raises(SettingError, match=r"Only Gaussians and mixtures .* got LogMixture"):
        head(torch.ones(1, 1, head.channels(1)), torch.ones(1, 1, 1) > 0)
