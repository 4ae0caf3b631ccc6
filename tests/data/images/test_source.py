"""Sources of images: which pixels are observed, and which images belong to which part."""

from dataclasses import dataclass, field, replace

import pytest
import torch

from convcnp.core.image_task import ImageTask
from convcnp.data.files import data_folder
from convcnp.data.images.source import ImageSource, held_back
from convcnp.data.source import FiniteSource, Source, seeded
from convcnp.errors import SettingError
from convcnp.training.catalogue import SOURCES
from convcnp.training.evaluation import fixed_tasks
from helpers import needs_data


@dataclass(frozen=True)
class Numbered(ImageSource):
    """Images of 10 x 20 pixels that all show their own number."""

    dim_y: int = 1
    numbers: dict = field(
        default_factory=lambda: {"training": [1, 2, 3], "validation": [4], "test": [5, 6]}
    )

    def images(self):
        numbers = torch.tensor(self.numbers[self.part], dtype=torch.uint8)
        return numbers[:, None, None, None].expand(-1, 10, 20, 1)


def shares(task: ImageTask) -> torch.Tensor:
    return task.context_mask[..., 0].float().mean(1)


def test_a_source_draws_the_same_images_and_pixels_from_the_same_key():
    source = Numbered()
    first, second, other = (source.draw(4, seeded(*key)) for key in ((1, 2), (1, 2), (1, 3)))
    assert isinstance(source, Source)
    assert torch.equal(first.y_target, second.y_target)
    assert torch.equal(first.context_mask, second.context_mask)
    assert not torch.equal(first.context_mask, other.context_mask)


def test_models_are_judged_by_distinct_images_as_long_as_there_are_some():
    source = Numbered(numbers={"test": list(range(70))}).held_out("test")
    assert isinstance(source, FiniteSource)
    shown = torch.cat([task.y_target[:, 0, 0] for task in fixed_tasks(source, 140, seed=4)])
    assert len(shown[:70].unique()) == len(shown[70:].unique()) == 70


def test_values_lie_between_zero_and_one_and_all_pixels_are_asked_for():
    task = Numbered(numbers={"training": [0, 255]}).draw(50, seeded(0))
    assert task.y_target.dtype == torch.float32
    assert set(task.y_target.unique().tolist()) == {0.0, 1.0}
    assert task.target_mask.all()


def test_training_may_see_windows_cut_anywhere_and_models_are_judged_by_whole_images():
    row = torch.arange(20, dtype=torch.uint8).expand(2, 10, 20)[..., None]

    @dataclass(frozen=True)
    class Rows(ImageSource):
        dim_y: int = 1

        def images(self):
            return row

    source = Rows(window=6)
    task = source.draw(300, seeded(0))
    pixels = (255 * task.as_images(task.y_target)[..., 0]).round()
    assert pixels.shape == (300, 6, 6)
    assert set(pixels[:, 0, 0].tolist()) == set(range(15))
    assert (pixels.diff(dim=2) == 1).all()
    assert source.held_out("test").draw(2, seeded(0)).width == 20
    assert Rows(window=15).draw(1, seeded(0)).height == 10
    with pytest.raises(SettingError, match="window must be a positive number, got 0"):
        Rows(window=0)


def test_a_share_of_the_batches_stays_whole_and_without_one_nothing_more_is_drawn():
    windows = Numbered(window=6)
    some, none = replace(windows, whole_share=0.25), replace(windows, whole_share=0.0)
    sides = [some.draw(2, seeded(0, step)).width for step in range(400)]
    assert set(sides) == {6, Numbered().draw(1, seeded(0)).width}
    assert sides.count(6) / 400 == pytest.approx(0.75, abs=0.07)
    for step in range(3):
        one, other = (source.draw(2, seeded(0, step)) for source in (windows, none))
        assert torch.equal(one.context_mask, other.context_mask)
    assert {replace(windows, whole_share=1.0).draw(1, seeded(i)).width for i in range(9)} != {6}
    assert "whole_share" in Numbered.options
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(SettingError, match=f"whole_share must be a probability.*, got {share}"):
            Numbered(whole_share=share)


def test_images_to_train_on_may_be_mirrored_moved_and_recoloured_and_no_others():
    ramp = torch.arange(0, 200, 10, dtype=torch.uint8).expand(1, 10, 20)[..., None]

    @dataclass(frozen=True)
    class Ramp(ImageSource):
        dim_y: int = 1

        def images(self):
            return ramp

    plain = Ramp().draw(60, seeded(0))
    for setting in ({"mirror": True}, {"shift": 2}, {"recolour": 0.2}):
        source = Ramp(**setting)
        task, again = (source.draw(60, seeded(0)) for _ in range(2))
        assert torch.equal(task.y_target, again.y_target)
        assert len(task.y_target[:, :, 0].unique(dim=0)) > 1
        judged = source.held_out("test").draw(60, seeded(0))
        assert torch.equal(judged.y_target, plain.y_target)
        assert torch.equal(judged.context_mask, plain.context_mask)
        assert set(setting) < set(Ramp.options)
    with pytest.raises(SettingError, match="shift must be zero or positive, got -1"):
        Ramp(shift=-1)
    with pytest.raises(SettingError, match="recolour must be a share, from 0 to 1, got 2"):
        Ramp(recolour=2.0)


def test_some_pixels_are_asked_for_in_training_and_all_in_judging():
    source = Numbered(targets=7)
    task = source.draw(3, seeded(0))
    whole = replace(source, targets=None).draw(3, seeded(0))
    assert task.y_target.shape == (3, 7, 1)
    assert torch.equal(task.context_mask, whole.context_mask)
    inputs = [tuple(point) for point in task.x_target[0].tolist()]
    assert len(set(inputs)) == 7
    place = [whole.x_target[0].tolist().index(list(point)) for point in inputs]
    assert torch.equal(task.y_target, whole.y_target[:, place])
    assert source.held_out("test").draw(3, seeded(0)).y_target.shape == whole.y_target.shape
    with pytest.raises(SettingError, match="targets must be a positive number"):
        Numbered(targets=0)


def test_from_a_hundredth_to_half_of_the_pixels_are_observed_and_all_numbers_occur():
    source = Numbered()
    counts = (200 * shares(source.draw(3000, seeded(0)))).round().int()
    assert set(counts.tolist()) == set(range(2, 101))


def test_every_pixel_is_observed_equally_often():
    mask = Numbered(min_context=0.3, max_context=0.3).draw(4000, seeded(0)).context_mask
    assert mask.sum((1, 2)).unique().tolist() == [60]
    assert (mask.float().mean(0) - 0.3).abs().max() < 0.04


def test_one_share_is_possible_where_it_is_no_whole_number_of_pixels():
    mask = Numbered(min_context=0.303, max_context=0.303).draw(5, seeded(0)).context_mask
    assert mask.sum((1, 2)).unique().tolist() == [61]


def test_the_number_of_observed_pixels_can_be_shared_by_a_batch():
    assert len(shares(Numbered(sizes="batch").draw(20, seeded(1))).unique()) == 1
    assert len(shares(Numbered(sizes="task").draw(20, seeded(1))).unique()) > 5
    assert len(shares(Numbered(sizes="batch").held_out("test").draw(20, seeded(1))).unique()) > 5


def test_parts_hold_their_own_images():
    source = Numbered()
    for part, numbers in source.numbers.items():
        some = source if part == "training" else source.held_out(part)
        seen = (255 * some.draw(60, seeded(0)).y_target).round().unique().tolist()
        assert seen == numbers


def test_the_last_twelfth_of_a_training_set_is_held_back():
    images = torch.arange(24, dtype=torch.uint8)[:, None, None, None]
    assert held_back(images, "training").flatten().tolist() == list(range(22))
    assert held_back(images, "validation").flatten().tolist() == [22, 23]


@pytest.mark.parametrize("least, most", [(-0.1, 0.5), (0.6, 0.5), (0.1, 1.1)])
def test_impossible_shares_are_refused(least, most):
    with pytest.raises(SettingError, match="0 <= min_context <= max_context <= 1, got"):
        Numbered(min_context=least, max_context=most)


def test_other_sizes_are_refused():
    with pytest.raises(SettingError, match="sizes must be 'batch' or 'task', got 'some'"):
        Numbered(sizes="some")


REAL = {
    "mnist": ("mnist", (32, 32, 1)),
    "svhn": ("svhn", (32, 32, 3)),
    "celeba32": ("celeba", (32, 32, 3)),
    "celeba64": ("celeba", (64, 64, 3)),
    "celeba": ("celeba", (218, 178, 3)),
    "zsmm": ("mnist", (56, 56, 1)),
    "dead-leaves": ("", (64, 64, 3)),
}


@needs_data
@pytest.mark.parametrize("name", REAL)
def test_the_real_sets_are_read(name):
    folder, shape = REAL[name]
    if not (data_folder() / folder).exists():
        pytest.skip(f"CONVCNP_DATA has no {folder}")
    for source in (SOURCES[name], *(SOURCES[name].held_out(p) for p in ("validation", "test"))):
        task = source.draw(2, seeded(0))
        assert (task.height, task.width, task.dim_y) == shape
        assert source.dim_y == shape[2]
        assert task.y_target.max() > 0.3
        assert task.y_target.min() >= 0
