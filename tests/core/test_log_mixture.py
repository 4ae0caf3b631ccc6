import math

import pytest
import torch
from torch.distributions import LogNormal, Normal

from convcnp.core.log_mixture import LogMixtureHead, LogMixturePredictive
from convcnp.core.predictive import MixturePredictive

MASK = torch.ones(1, 3, 1, dtype=torch.bool)


def mixture(
    is_log: tuple[bool, bool] = (False, True), *, is_shifted: bool = True
) -> LogMixturePredictive:
    generator = torch.Generator().manual_seed(0)
    logits, locations = torch.randn(2, 1, 3, 1, 2, generator=generator, dtype=torch.float64)
    scales = 0.2 + torch.rand(1, 3, 1, 2, generator=generator, dtype=torch.float64)
    kinds = torch.tensor(is_log).expand(1, 3, 1, 2)
    shift = torch.where(kinds, torch.tensor([0.4, 0.1]).double() * is_shifted, 0)
    return LogMixturePredictive(logits, locations, scales, kinds, shift, MASK)


def numbers(found: LogMixturePredictive) -> list[torch.Tensor]:
    """Return what the head is given."""
    kind = found.is_log.double()
    return [found.log_weights, found.locations, found.scales, kind, found.shift]


def by_torch(found: LogMixturePredictive, value: torch.Tensor, what: str) -> torch.Tensor:
    """Sum over the components' densities or cdfs, each of torch's own distribution."""
    kinds = Normal, LogNormal
    parts = [
        getattr(
            kinds[int(found.is_log[0, 0, 0, k])](found.locations[..., k], found.scales[..., k]),
            what,
        )(value + found.shift[..., k])
        for k in range(2)
    ]
    parts = torch.stack(parts, -1)
    return (found.weights * (parts.exp() if what == "log_prob" else parts)).sum(-1)


def test_density_and_cdf_are_torchs():
    found, value = mixture(), torch.tensor([0.3, 1.0, 2.5]).double().reshape(1, 3, 1)
    torch.testing.assert_close(found.log_prob(value).exp(), by_torch(found, value, "log_prob"))
    torch.testing.assert_close(found.cdf(value), by_torch(found, value, "cdf"))


@pytest.mark.parametrize("is_shifted", [False, True])
def test_a_log_normal_has_no_mass_below_its_bound(is_shifted):
    found = mixture((True, True), is_shifted=is_shifted)
    bound = 0.4 if is_shifted else 0.0
    assert (found.cdf(torch.full((1, 3, 1), 0.1 - bound).double()) > 0).all()
    below = torch.full((1, 3, 1), -0.1 - bound).double()
    assert (found.cdf(below) == 0).all()
    assert (found.log_prob(below) == -math.inf).all()


@pytest.mark.parametrize("level", [0.001, 0.05, 0.5, 0.95])
def test_a_quantile_has_its_level_below_it(level):
    found = mixture()
    torch.testing.assert_close(
        found.cdf(found.quantile(level)), torch.full((1, 3, 1), level).double()
    )


def test_moments_are_those_of_samples():
    found = mixture()
    drawn = found.sample((200_000,), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(drawn.mean(0), found.mean, atol=0.03, rtol=0.02)
    torch.testing.assert_close(drawn.std(0), found.stddev, atol=0.05, rtol=0.05)


def test_the_crps_of_gaussians_is_that_of_a_mixture():
    found, value = mixture((False, False)), torch.ones(1, 3, 1).double()
    other = MixturePredictive(found.log_weights, found.locations, found.scales, MASK)
    torch.testing.assert_close(found.crps(value), other.crps(value))


@pytest.mark.parametrize("value", [-1.0, 0.5, 4.0])
def test_the_crps_of_log_normals_is_that_of_samples(value):
    found, values = mixture(), torch.full((1, 3, 1), value).double()
    generator = torch.Generator().manual_seed(0)
    one, other = (found.sample((100_000,), generator=generator) for _ in range(2))
    expected = (one - value).abs().mean(0) - 0.5 * (one - other).abs().mean(0)
    torch.testing.assert_close(found.crps(values), expected, atol=0.02, rtol=0.01)


def test_the_integral_agrees_with_the_closed_form():
    found, value = mixture((False, False)), torch.tensor([0.1, 1.0, -3.0]).double()
    closed = found.crps(value.reshape(1, 3, 1)).flatten()
    torch.testing.assert_close(found._integrated(value), closed, atol=1e-3, rtol=1e-3)


def test_an_affine_map_moves_quantiles():
    found = mixture()
    moved = found.affine(3.0, 2.0)
    torch.testing.assert_close(moved.quantile(0.3), 3 + 2 * found.quantile(0.3))
    torch.testing.assert_close(moved.mean, 3 + 2 * found.mean)
    torch.testing.assert_close(moved.stddev, 2 * found.stddev)


def test_scatter_adds_its_variance():
    found = mixture((True, True))
    wide = found.affine(0.0, 2.0, 0.7)
    torch.testing.assert_close(wide.mean, 2 * found.mean)
    torch.testing.assert_close(wide.variance, 4 * found.variance + 0.49)


def test_outputs_not_asked_for_count_for_nothing():
    found = mixture()
    masked = LogMixturePredictive(
        *(found.log_weights, found.locations, found.scales, found.is_log, found.shift), ~MASK
    )
    nothing = torch.full((1, 3, 1), math.nan).double()
    assert (masked.log_prob(nothing) == 0).all()
    assert (masked.crps(nothing) == 0).all()


def test_the_head_reads_five_numbers_per_component():
    found, head = mixture(), LogMixtureHead(2)
    raw = torch.stack(numbers(found), 2).flatten(2)
    assert raw.shape[2] == head.channels(1)
    again = head(raw, MASK)
    value = torch.tensor([0.3, 1.0, 2.0])[None, :, None].double()
    for moment in ("mean", "variance"):
        torch.testing.assert_close(getattr(again, moment), getattr(found, moment))
    torch.testing.assert_close(again.log_prob(value), found.log_prob(value))


def test_components_that_no_output_has_are_left_out():
    found, never = mixture(), torch.full((1, 3, 1, 2), -math.inf).double()
    fillers = never, *[torch.ones_like(never)] * 4
    padded = [
        torch.cat([filler, part], -1) for part, filler in zip(numbers(found), fillers, strict=True)
    ]
    again = LogMixtureHead(4)(torch.stack(padded, 2).flatten(2), MASK)
    assert again.locations.shape[-1] == found.locations.shape[-1]
    torch.testing.assert_close(again.quantile(0.05), found.quantile(0.05))
