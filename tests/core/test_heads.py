"""Heads: which numbers a distribution is made of."""

import pytest
import torch
from torch.nn.functional import softplus

from convcnp.core.heads import GaussianHead, MixtureHead, make_head, make_pixel_head
from convcnp.core.predictive import GaussianPredictive, MixturePredictive
from convcnp.errors import SettingError
from helpers import assert_equal

MASK = torch.ones(2, 3, 2, dtype=torch.bool)


def numbers(head, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(2, 3, head.channels(2), generator=generator, dtype=torch.float64)


def test_a_gaussian_s_means_stand_before_its_scales():
    head = GaussianHead(sigma_floor=0.2)
    raw = numbers(head)
    predictive = head(raw, MASK)
    assert isinstance(predictive, GaussianPredictive)
    assert_equal(predictive.mean, raw[..., :2])
    assert_equal(predictive.stddev, softplus(raw[..., 2:]) + 0.2)
    assert predictive.mask is MASK


def test_scales_that_are_made_positive_on_the_grid_stay_as_they_are():
    head = GaussianHead(positivity="grid")
    raw = numbers(head)
    on_grid = head.on_grid(raw)
    assert_equal(on_grid, torch.cat([raw[..., :2], softplus(raw[..., 2:])], -1))
    assert_equal(head(on_grid, MASK).stddev, on_grid[..., 2:])
    assert torch.equal(GaussianHead().on_grid(raw), raw)


def test_a_mixture_s_weights_stand_first_then_its_means_then_its_scales():
    head = MixtureHead(components=3, sigma_floor=0.2)
    raw = numbers(head)
    assert raw.shape[2] == 18
    predictive = head(raw, MASK)
    assert isinstance(predictive, MixturePredictive)
    # The second channel of a target: its three components stand together in every block of six.
    logits, means, scales = raw[1, 2, 3:6], raw[1, 2, 9:12], raw[1, 2, 15:18]
    assert_equal(predictive.weights[1, 2, 1], torch.softmax(logits, 0))
    assert_equal(predictive.means[1, 2, 1], means + torch.tensor([-1.0, 0.0, 1.0]))
    assert_equal(predictive.stddevs[1, 2, 1], softplus(scales) + 0.2)


def test_heads_have_no_weights():
    for head in (GaussianHead(), MixtureHead()):
        assert not list(head.parameters())
        assert not head.state_dict()


def test_a_head_is_made_by_its_name():
    assert isinstance(make_head(), GaussianHead)
    assert make_head(head="mixture").components == 3
    assert make_head(head="mixture", components=5, sigma_floor=0.1).components == 5
    assert make_pixel_head().sigma_floor == 0.1
    assert make_pixel_head(head="mixture").sigma_floor == 0.1


@pytest.mark.parametrize(
    "settings",
    [
        {"head": "gaussian", "components": 2},
        {"head": "mixture", "positivity": "grid"},
        {"head": "cauchy"},
    ],
)
def test_a_head_that_cannot_be_is_refused(unchecked, settings):
    with pytest.raises(SettingError, match="head must be 'gaussian', without components, or"):
        make_head(**settings)


def test_settings_outside_their_range_are_refused(unchecked):
    with pytest.raises(SettingError, match="components must be a positive number"):
        MixtureHead(0)
    with pytest.raises(SettingError, match="sigma_floor must be zero or positive"):
        GaussianHead(-0.1)
    with pytest.raises(SettingError, match="positivity must be 'target' or 'grid'"):
        GaussianHead(positivity="nowhere")
