"""Hidden pixels: their shapes, their shares, and that a generator decides all of them."""

import math

import pytest
import torch

from convcnp.data.images.masks import scratches, some_pixels, strokes, within_boxes, words
from convcnp.data.source import seeded


def whole(batch_size: int, size: int = 48) -> torch.Tensor:
    return torch.tensor([[0, size]] * 2).expand(batch_size, 2, 2)


WAYS = {
    "pixels": lambda g: some_pixels((200, 48, 48), 0.01, 0.95, g),
    "boxes": lambda g: within_boxes((48, 48), whole(200), g),
    "scratches": lambda g: scratches(200, 48, g),
    "words": lambda g: words(200, 48, g),
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


@every_way
def test_every_image_has_hidden_pixels_and_seen_ones(way):
    hidden = way(seeded(0))
    assert hidden.shape == (200, 48, 48)
    shares = hidden.float().mean((1, 2))
    assert shares.min() > 0
    assert shares.max() < 1
    assert len(shares.unique()) > 50


@every_way
def test_the_generator_decides(way):
    first, again, other = (way(seeded(key)) for key in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_few_pixels_and_many_are_seen_equally_often():
    seen = 1 - some_pixels((4000, 40, 40), 0.01, 0.64, seeded(0)).float().mean((1, 2))
    assert seen.min() > 0.001
    assert seen.max() < 0.7
    assert (seen < 0.08).float().mean() == pytest.approx(0.5, abs=0.04)


def test_a_stroke_hides_the_pixels_within_half_its_thickness():
    first, last = torch.tensor([[[4.0, 3.0]]]), torch.tensor([[[15.0, 12.0]]])
    found = strokes(20, first, last, torch.tensor([[3.0]]))[0]
    for row in range(20):
        for column in range(20):
            point = torch.tensor([row + 0.5, column + 0.5])
            share = torch.linspace(0, 1, 1001)[:, None]
            away = (first[0] + share * (last - first)[0] - point).norm(dim=1).min().item()
            if not math.isclose(away, 1.5, abs_tol=1e-3):
                assert found[row, column] == (away <= 1.5)


def test_a_stroke_of_no_thickness_hides_nothing_and_a_point_is_a_dot():
    at = torch.tensor([[[2.5, 2.5]]])
    assert not strokes(5, at, at, torch.tensor([[0.0]])).any()
    assert strokes(5, at, at, torch.tensor([[1.0]])).nonzero().tolist() == [[0, 2, 2]]


def test_scratches_are_thin_and_boxes_are_filled():
    def inner(hidden: torch.Tensor) -> float:
        """Return the share of hidden pixels that have only hidden ones within three."""
        near = torch.nn.functional.avg_pool2d(hidden.float()[:, None], 7, 1, 3)[:, 0]
        return ((near > 0.999) & hidden).sum().item() / hidden.sum().item()

    assert inner(WAYS["scratches"](seeded(0))) < 0.01
    assert inner(WAYS["words"](seeded(0))) < 0.05
    assert inner(WAYS["boxes"](seeded(0))) > 0.2
