"""One picture: what its pixels are, and which are missing."""

import numpy as np
import pytest
import torch
from PIL import Image

from convcnp.data.images.photo import Photo
from convcnp.errors import DataError
from helpers import assert_equal, claiming, random_array, saved


@pytest.mark.parametrize("shape", [(7, 9), (7, 9, 3)])
def test_a_png_is_read_exactly(tmp_path, shape):
    array = random_array(*shape)
    photo = Photo.read(saved(tmp_path / "photo.png", array))
    assert photo.shape == (7, 9)
    assert photo.pixels.shape == (7, 9, 1 if len(shape) == 2 else 3)
    assert ((255 * photo.pixels).round().numpy().squeeze() == array).all()
    assert not photo.missing.any()


@pytest.mark.parametrize("channels", [2, 4])
def test_transparent_pixels_are_missing(tmp_path, channels):
    array = random_array(5, 6, channels)
    array[..., -1] = 255
    array[1:3, 2, -1] = 0
    photo = Photo.read(saved(tmp_path / "photo.png", array))
    assert photo.pixels.shape == (5, 6, channels - 1)
    assert torch.nonzero(photo.missing).tolist() == [[1, 2], [2, 2]]


def test_other_kinds_of_pictures_are_read(tmp_path):
    colour, grey = random_array(8, 8, 3), random_array(8, 8)
    assert Photo.read(saved(tmp_path / "a.jpg", colour)).pixels.shape == (8, 8, 3)
    assert Photo.read(saved(tmp_path / "b.jpeg", grey)).pixels.shape == (8, 8, 1)
    Image.fromarray(colour).convert("P").save(tmp_path / "palette.png")
    assert Photo.read(tmp_path / "palette.png").pixels.shape == (8, 8, 3)
    Image.fromarray(colour).convert("CMYK").save(tmp_path / "cmyk.jpg")
    assert Photo.read(tmp_path / "cmyk.jpg").pixels.shape == (8, 8, 3)
    Image.fromarray(grey > 99).save(tmp_path / "bilevel.png")
    assert Photo.read(tmp_path / "bilevel.png").pixels.unique().tolist() == [0.0, 1.0]
    deep = (grey.astype(np.uint16) << 8) + 255
    pixels = Photo.read(saved(tmp_path / "deep.png", deep)).pixels
    assert_equal(pixels[..., 0], torch.from_numpy(deep / 65535).float(), 1e-6)


@pytest.mark.parametrize("scale", [1.0, 255.0])
def test_what_is_no_number_in_a_picture_is_missing(tmp_path, scale):
    array = np.linspace(0, scale, 12, dtype=np.float32).reshape(3, 4)
    array[1, 2], array[2, 0] = np.nan, np.inf
    Image.fromarray(array).save(tmp_path / "photo.tiff")
    photo = Photo.read(tmp_path / "photo.tiff")
    assert photo.missing.nonzero().tolist() == [[1, 2], [2, 0]]
    assert photo.pixels.isfinite().all()
    assert photo.pixels[2, 3, 0] == 1
    assert photo.pixels[0, 1, 0] == pytest.approx(1 / 11)


@pytest.mark.parametrize("scale", [1, 255])
def test_a_picture_of_floating_point_numbers_is_read(tmp_path, scale):
    array = np.linspace(0, scale, 12, dtype=np.float32).reshape(3, 4)
    Image.fromarray(array).save(tmp_path / "photo.tiff")
    pixels = Photo.read(tmp_path / "photo.tiff").pixels[..., 0]
    assert_equal(pixels, torch.linspace(0, 1, 12).view(3, 4), 1e-6)


def test_a_photograph_may_have_more_pixels_than_pillow_likes(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    assert Photo.read(saved(tmp_path / "photo.png", random_array(40, 50))).shape == (40, 50)
    assert Image.MAX_IMAGE_PIXELS == 10


def test_a_small_file_of_too_many_pixels_is_refused_before_it_is_decoded(tmp_path):
    path = claiming(tmp_path / "bomb.png", 50_000, 50_000)
    with pytest.raises(DataError, match=r"50,000 x 50,000 pixels, and at most 200,000,000 are"):
        Photo.read(path)
    small = saved(tmp_path / "small.png", random_array(4, 6))
    with pytest.raises(DataError, match="6 x 4 pixels, and at most 23 are decoded"):
        Photo.read(small, most_pixels=23)


def test_a_picture_that_runs_another_program_is_not_decoded(tmp_path):
    (tmp_path / "script.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    with pytest.raises(DataError, match="it is no picture of a known kind"):
        Photo.read(tmp_path / "script.png")


def test_bytes_are_kept_as_bytes(tmp_path):
    photo = Photo.read(saved(tmp_path / "photo.png", random_array(4, 6, 3)))
    assert photo.stored.dtype == torch.uint8
    assert torch.equal(photo.pixels, photo.stored / 255)


def test_a_photograph_is_turned_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned by a quarter
    saved(tmp_path / "photo.png", random_array(4, 6), exif=exif)
    assert Photo.read(tmp_path / "photo.png").shape == (6, 4)


@pytest.mark.parametrize("content", [b"", b"text", b"\x89PNG\r\n\x1a\n123"])
def test_a_file_that_is_no_picture_is_named(tmp_path, content):
    (tmp_path / "photo.png").write_bytes(content)
    with pytest.raises(DataError, match=r"photo.png must be a whole picture .* cannot be read"):
        Photo.read(tmp_path / "photo.png")


def test_a_cut_missing_or_odd_file_is_named(tmp_path):
    whole = saved(tmp_path / "whole.png", random_array(40, 40, 3)).read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"cut.png must be a whole picture"):
        Photo.read(tmp_path / "cut.png")
    with pytest.raises(DataError, match=r"nothing.png does not exist; check the path"):
        Photo.read(tmp_path / "nothing.png")
    with pytest.raises(DataError, match="must be a whole picture"):
        Photo.read(tmp_path)
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(DataError, match=r"cannot be read \(it is no picture of a known kind\)"):
        Photo.read(tmp_path / "text.png")
