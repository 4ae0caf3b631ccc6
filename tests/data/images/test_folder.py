"""A user's own images: which are read, what a task shows of them, and what is hidden."""

import zipfile

import numpy as np
import pytest
import torch
from PIL import Image

from convcnp.data.images import folder as image_folder
from convcnp.data.images.folder import ImageFolder, read_images
from convcnp.data.source import FiniteSource, NamedSource, seeded
from convcnp.errors import ConvCNPWarning, DataError, SettingError
from helpers import picture, saved, write_pictures


def folder_of(folder, **arrays):
    folder.mkdir()
    for name, array in arrays.items():
        saved(folder / f"{name}.png", array)
    return folder


def shown(task, image=0):
    """Return the pixels of a task's image, and which of them are observed and asked for."""
    observed, asked = (
        task.as_images(mask)[image, ..., 0] for mask in (task.context_mask, task.target_mask)
    )
    return task.as_images(task.y_context + task.y_target)[image], observed, asked


def test_all_sizes_and_kinds_are_read(tmp_path):
    grey = picture(6, 9, channels=1)
    folder = folder_of(
        tmp_path / "set",
        a=picture(8, 5),
        b=grey,
        c=np.stack([grey] * 3, -1),
        d=grey.astype(">u2") * 257,
    )
    pictures = read_images(folder)
    assert pictures.names == ("a.png", "b.png", "c.png", "d.png")
    assert pictures.sizes == ((8, 5), (6, 9), (6, 9), (6, 9))
    assert pictures.in_colour == 1
    for image in pictures.pixels[1:]:
        assert np.array_equal(image[..., 0].numpy(), grey)
    spot = np.stack([picture(20, 20, channels=1)] * 3, -1)
    spot[4, 5] = (200, 0, 0)
    assert read_images(folder_of(tmp_path / "spot", a=spot)).in_colour == 1


def test_a_zip_file_holds_the_same_images(tmp_path):
    folder = write_pictures(tmp_path / "set", count=4)
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
        for file in folder.iterdir():
            archive.write(file, file.name)
    first, second = read_images(folder), read_images(tmp_path / "set.zip")
    assert first.digest == second.digest
    assert all(torch.equal(a, b) for a, b in zip(first.pixels, second.pixels, strict=True))


def test_files_are_read_again_when_they_change_and_only_then(tmp_path, monkeypatch):
    folder = write_pictures(tmp_path / "set", count=3)
    first = read_images(folder)
    assert read_images(folder) is first
    saved(folder / "1.png", picture(30, 30, seed=9))
    assert read_images(folder).digest != first.digest
    source = ImageFolder(path=str(folder), digest=first.digest)
    with pytest.raises(DataError, match="they have changed; restore them, or train anew"):
        source.draw(1, seeded(0))


def test_of_large_sets_parts_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(image_folder, "_KEPT_BYTES", 3 * 3 * 10**2)
    monkeypatch.setattr(image_folder, "_SMALLEST_PART", 4)
    image_folder._read.cache_clear()
    whole = picture(12, 9)
    pictures = read_images(folder_of(tmp_path / "set", a=whole, b=whole, c=whole))
    image_folder._read.cache_clear()
    assert pictures.sizes[0] == (12, 9)
    assert pictures.pixels[0].shape == (10, 9, 3)
    tops = [t for t in range(3) if np.array_equal(pictures.pixels[0].numpy(), whole[t : t + 10])]
    assert len(tops) == 1


def test_parts_are_distinct_and_do_not_depend_on_the_order_of_names(tmp_path):
    source = ImageFolder(path=str(write_pictures(tmp_path / "set", count=20)))
    assert isinstance(source, NamedSource)
    assert isinstance(source, FiniteSource)
    parts = [source, source.held_out("validation"), source.held_out("test")]
    numbers = [set(part.own.tolist()) for part in parts]
    assert [len(part) for part in numbers] == [16, 2, 2]
    assert set.union(*numbers) == set(range(20))
    assert len(parts[0]) == 16
    with pytest.raises(DataError, match=r"at least 3 images in .* got 2; gather more"):
        ImageFolder(path=str(write_pictures(tmp_path / "few", count=2))).draw(1, seeded(0))


def test_windows_are_cut_anywhere_and_hidden_pixels_are_the_targets(tmp_path):
    whole = picture(14, 9)
    folder = folder_of(tmp_path / "set", a=whole, b=whole, c=whole)
    source = ImageFolder(path=str(folder), window=(10, 9), part="all")
    task = source.draw(200, seeded(0))
    assert (task.height, task.width, task.dim_y) == (10, 9, 3)
    tops = set()
    for i in range(200):
        pixels, observed, asked = shown(task, i)
        assert (observed ^ asked).all()
        assert asked.any()
        content = (255 * pixels).round().byte().numpy()
        tops |= {t for t in range(5) if np.array_equal(content, whole[t : t + 10])}
    assert tops == set(range(5))
    again = source.draw(200, seeded(0))
    assert torch.equal(task.context_mask, again.context_mask)
    assert torch.equal(task.y_target, again.y_target)


def test_nothing_is_observed_or_asked_for_beyond_an_image_or_where_it_is_transparent(tmp_path):
    image = np.dstack([picture(4, 6), np.full((4, 6), 255, dtype=np.uint8)])
    image[1, 2, 3] = 0
    folder = folder_of(tmp_path / "set", a=image)
    for boxes in (0.0, 1.0):
        source = ImageFolder(path=str(folder), window=(8, 8), part="all", boxes=boxes)
        task = source.draw(50, seeded(0))
        expected = torch.zeros(8, 8, dtype=torch.bool)
        expected[2:6, 1:7] = True
        expected[3, 3] = False
        for i in range(50):
            _, observed, asked = shown(task, i)
            assert torch.equal(observed | asked, expected)
            assert not (observed & asked).any()


def test_boxes_are_whole_within_the_image_and_leave_the_rest(tmp_path):
    source = ImageFolder(
        path=str(write_pictures(tmp_path / "set", count=3, height=30, width=20)),
        window=(30, 40),
        boxes=1.0,
        part="all",
    )
    task = source.draw(300, seeded(0))
    shares, single = [], 0
    for i in range(300):
        _, _, asked = shown(task, i)
        assert asked[:, 10:30].any()
        shares.append(asked.sum().item() / 600)
        rows, columns = asked.any(1), asked.any(0)
        single += torch.equal(asked, rows[:, None] & columns[None, :])
    assert 0.05 < np.mean(shares) < 0.5
    assert single > 60  # a third has one box
    random = ImageFolder(path=source.path, window=(30, 20), boxes=0.0, part="all")
    observed = random.draw(200, seeded(0)).context_mask[..., 0].float().mean(1)
    assert observed.min() >= 0.01
    assert observed.max() <= 0.5


def test_channels_are_those_that_are_asked_for(tmp_path):
    colour, grey = picture(8, 8), picture(8, 8, channels=1)
    folder = folder_of(tmp_path / "set", a=colour)
    as_grey = ImageFolder(path=str(folder), window=(8, 8), dim_y=1, part="all")
    pixels, _, _ = shown(as_grey.draw(1, seeded(0)))
    expected = np.array(Image.fromarray(colour).convert("L"), dtype=np.float32) / 255
    assert np.abs(pixels[..., 0].numpy() - expected).max() < 0.005
    assert as_grey.values == ("grey",)
    saved(folder / "a.png", grey)
    in_colour = ImageFolder(path=str(folder), window=(8, 8), part="all")
    pixels, _, _ = shown(in_colour.draw(1, seeded(0)))
    assert torch.equal(pixels[..., 0], pixels[..., 2])
    assert in_colour.values == ("red", "green", "blue")


def test_all_broken_images_are_counted_and_the_first_are_named(tmp_path):
    folder = write_pictures(tmp_path / "set", count=6)
    for i in range(4):
        path = folder / f"{i}.png"
        path.write_bytes(path.read_bytes()[: 20 * i])
    with pytest.raises(DataError, match=r"4 of 6 .* read: 0.png \(.*\), 1.png .* and 1 more; rem"):
        read_images(folder)
    with pytest.raises(DataError, match="nowhere does not exist; check the path"):
        read_images(tmp_path / "nowhere")


def test_impossible_settings_are_refused():
    for options, sentence in (
        ({"window": (0, 4)}, "window must be a height and a width of at least one pixel"),
        ({"boxes": 1.5}, "boxes must be a share between 0 and 1, got 1.5"),
        ({"dim_y": 2}, "dim_y must be 1 for grey or 3 for colour, got 2"),
        ({"max_context": 2.0}, "Shares of pixels must satisfy"),
    ):
        with pytest.raises(SettingError, match=sentence):
            ImageFolder(**options)


def test_of_too_many_images_some_are_drawn(tmp_path, monkeypatch):
    folder = write_pictures(tmp_path / "photos")
    names = read_images(folder).names
    monkeypatch.setattr("convcnp.data.images.folder.MOST", len(names) - 2)
    saved(folder / "another.png", picture(seed=99))  # what was read is not remembered
    with pytest.warns(
        ConvCNPWarning, match=f"Of {len(names) + 1} images {len(names) - 2} are used"
    ):
        some = read_images(folder).names
    assert len(some) == len(names) - 2
    assert list(some) == sorted(some)


def test_tasks_without_a_hidden_pixel_are_refused():
    with pytest.raises(SettingError, match="Hidden pixels are what is learned"):
        ImageFolder(min_context=1.0, max_context=1.0)


def test_without_a_path_no_folder_is_read_by_accident(tmp_path, monkeypatch):
    write_pictures(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"images, got no path; name it, as data\.path"):
        ImageFolder().draw(1, seeded(0))
