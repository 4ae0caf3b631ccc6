"""Ways of losing pixels of a photograph."""

import pytest
import torch
from torch.nn.functional import avg_pool2d

from convcnp.paper.damages import DAMAGES

every_damage = pytest.mark.parametrize("name", DAMAGES)


def lost(name: str, shape: tuple[int, int] = (150, 220), seed: int = 1) -> torch.Tensor:
    return DAMAGES[name].draw(shape, seed)


@every_damage
def test_a_seed_loses_the_same_pixels_again_and_another_one_others(name):
    assert lost(name).shape == (150, 220)
    assert torch.equal(lost(name), lost(name))
    assert not torch.equal(lost(name), lost(name, seed=2))


@every_damage
@pytest.mark.parametrize("shape", [(60, 300), (300, 60)])
def test_photographs_of_any_shape_lose_some_pixels_and_keep_some(name, shape):
    missing = lost(name, shape)
    assert missing.shape == shape
    assert 0 < missing.float().mean() < 1


@pytest.mark.parametrize("name, share", [("keep5", 0.95), ("keep20", 0.8)])
def test_a_share_is_left_at_random(name, share):
    assert lost(name).float().mean().item() == pytest.approx(share, abs=1e-3)


@pytest.mark.parametrize("name, widest", [("scratches", 4), ("text", 4), ("boxes", 26)])
def test_what_is_lost_is_as_wide_as_its_name_says(name, widest):
    def holds(side: int) -> bool:
        """Tell whether all pixels of a square of this side are lost somewhere."""
        return bool((avg_pool2d(lost(name).float()[None], side, 1) > 0.999).any())

    assert holds(2 if widest == 4 else 12)
    assert not holds(widest + 3)
