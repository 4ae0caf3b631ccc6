"""All image sets together, here of three that need no files."""

from dataclasses import dataclass

import pytest
import torch

from convcnp.data.images import mixed
from convcnp.data.images.dead_leaves import DeadLeaves
from convcnp.data.images.mixed import MixedImages
from convcnp.data.images.source import ImageSource
from convcnp.data.source import FiniteSource, seeded
from convcnp.errors import SettingError
from helpers import needs_data


@dataclass(frozen=True)
class Grey(ImageSource):
    """Images of 12 x 20 pixels, black on the left and white on the right."""

    dim_y: int = 1
    number: int = 3

    def images(self):
        half = torch.arange(20) >= 10
        return (255 * half.byte()).view(1, 1, 20, 1).expand(self.number, 12, 20, 1)


@pytest.fixture(autouse=True)
def sets(monkeypatch):
    monkeypatch.setattr(mixed, "_SETS", (DeadLeaves(size=40), Grey(), DeadLeaves(size=40)))


def test_the_same_key_draws_the_same_tasks():
    source = MixedImages(window=16)
    first, again, other = (source.draw(8, seeded(1, key)) for key in (2, 2, 3))
    assert torch.equal(first.y_context, again.y_context)
    assert torch.equal(first.context_mask, again.context_mask)
    assert not torch.equal(first.context_mask, other.context_mask)


def test_what_is_hidden_is_asked_for_and_nothing_else():
    task = MixedImages(window=24).draw(60, seeded(0))
    assert (task.height, task.width, task.dim_y) == (24, 24, 3)
    assert torch.equal(task.target_mask, ~task.context_mask)
    assert task.target_mask.any(1).all()
    seen = task.context_mask[..., 0].float().mean(1)
    assert seen.min() < 0.05
    assert seen.max() > 0.9
    values = torch.where(task.context_mask, task.y_context, task.y_target)
    assert values.min() >= 0
    assert values.max() <= 1


def test_every_set_has_an_equal_share_and_a_set_that_comes_twice_is_read_once():
    source = MixedImages(window=16)
    assert source.sets[0] is source.sets[2]
    assert len(source) == 3 * 20_000
    assert isinstance(source.held_out("test"), FiniteSource)
    assert len(source.held_out("test")) == 3 * 2_000
    assert source.held_out("test").sets[0].part == 2


def two_colours(number: int) -> torch.Tensor:
    """Return the values of a grey image's two halves, in the order in which they come."""
    task = MixedImages(window=16).take(torch.full((1,), 3 * number + 1), seeded(number))
    return torch.where(task.context_mask, task.y_context, task.y_target)[0]


def test_grey_images_are_given_two_colours():
    ends = [(pixels[0], pixels[-1]) for pixels in map(two_colours, range(40))]
    apart = torch.stack([(first - last).abs().max() for first, last in ends])
    assert (apart > 0.1).float().mean() > 0.3  # other squares show one half alone
    spread = torch.stack([first.max() - first.min() for first, _ in ends])
    assert (spread > 0.1).float().mean() > 0.5
    assert (spread < 1e-4).float().mean() == pytest.approx(0.2, abs=0.15)  # made grey again


def test_impossible_settings_are_refused():
    with pytest.raises(SettingError, match="min_context must be above 0 and max_context below 1"):
        MixedImages(min_context=0.0)
    with pytest.raises(SettingError, match="above 0 and max_context below 1, got"):
        MixedImages(max_context=1.0)
    with pytest.raises(SettingError, match="window must be a positive number, got -1"):
        MixedImages(window=-1)


@needs_data
def test_the_real_sets_are_read(monkeypatch):
    monkeypatch.undo()
    source = MixedImages()
    assert len(source.sets) == 6
    task = source.held_out("test").draw(12, seeded(0))
    assert (task.height, task.dim_y) == (48, 3)
    assert task.y_context.std() > 0.1
