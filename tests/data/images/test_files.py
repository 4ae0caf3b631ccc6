"""Folders and zip files of images, made by the tests."""

import io
import zipfile

import numpy as np
import pytest
import torch
from PIL import Image

from convcnp.data.images import files as image_files
from convcnp.data.images.celeba import CelebA
from convcnp.data.images.files import holds_images, image_names
from convcnp.errors import DataError


def png(shade: int, size: tuple[int, int] = (6, 4)) -> bytes:
    """Return a picture of one shade with a dark left upper pixel."""
    pixels = np.full((size[1], size[0], 3), shade, dtype=np.uint8)
    pixels[0, 0] = 0
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "PNG")
    return content.getvalue()


def write_zip(path, contents):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


NUMBERED = {f"faces/{i:03}.png": png(10 * i) for i in range(1, 21)}


@pytest.fixture(params=["folder", "zip"])
def twenty(request, tmp_path):
    """Write twenty pictures of ever brighter shades, and a file that is none."""
    if request.param == "zip":
        write_zip(tmp_path / "set.zip", {**NUMBERED, "read.me": b"not a picture"})
        return tmp_path / "set.zip"
    for name, content in NUMBERED.items():
        (tmp_path / "set" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "set" / name).write_bytes(content)
    (tmp_path / "set/read.me").write_text("not a picture")
    return tmp_path / "set"


@pytest.fixture
def faces(tmp_path, monkeypatch):
    """Write files as CelebA's; return a function that gives the source."""
    monkeypatch.setenv("CONVCNP_DATA", str(tmp_path))

    def source(contents, **options):
        (tmp_path / "celeba").mkdir(exist_ok=True)
        write_zip(tmp_path / "celeba/img_align_celeba.zip", contents)
        return CelebA(**options)

    return source


def test_images_come_in_their_size_or_scaled_in_colour_or_grey(twenty):
    some = torch.tensor([2, 0, 2])
    images = image_files.image_files(twenty, None, 3)[some]
    assert images.shape == (3, 4, 6, 3)
    assert images.dtype == torch.uint8
    assert images[:, 0, 0].unique().tolist() == [0]
    assert images[:, 1, 1, 0].tolist() == [30, 10, 30]
    assert image_files.image_files(twenty, 8, 3)[some].shape == (3, 8, 8, 3)
    assert image_files.image_files(twenty, None, 1)[some].shape == (3, 4, 6, 1)


def test_an_image_is_decoded_once_unless_the_set_is_large(twenty, monkeypatch):
    decoded = []
    real = image_files.ImageFiles._decoded
    monkeypatch.setattr(
        image_files.ImageFiles,
        "_decoded",
        lambda self, name: decoded.append(name) or real(self, name),
    )
    for kept_bytes, times in ((2**31, 1), (10, 3)):
        monkeypatch.setattr(image_files, "_KEPT_BYTES", kept_bytes)
        image_files.image_files.cache_clear()
        images = image_files.image_files(twenty, None, 3)
        decoded.clear()
        for _ in range(3):
            assert images[torch.tensor([5])][0, 1, 1, 0] == 60
        assert len(decoded) == times


@pytest.mark.parametrize("content", [b"", b"nothing", png(9)[:40], png(9)[:-30]])
def test_a_broken_image_is_named(faces, content):
    images = faces({"1.png": png(1), "2.png": content}, size=None, part="test").images()
    with pytest.raises(DataError, match=r"2.png in .*zip must be a whole image.*get it again"):
        images[torch.tensor([len(images) - 1])]


def test_a_damaged_zip_file_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("CONVCNP_DATA", str(tmp_path))
    (tmp_path / "celeba").mkdir()
    path = tmp_path / "celeba/img_align_celeba.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("1.png", np.random.default_rng(0).bytes(2000) + bytes(2000))
    content = bytearray(path.read_bytes())
    content[60:460] = b"\xff" * 400
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"Expected to read 1.png in .*zip, but it failed"):
        CelebA(size=None).images()


def test_images_of_different_sizes_need_a_size(faces):
    contents = {"1.png": png(1), "2.png": png(2, size=(5, 5))}
    images = faces(contents, size=None, part="test").images()
    with pytest.raises(DataError, match=r"one size, got \(4, 6\) for 1.png and \(5, 5\) for 2.png"):
        images[torch.tensor([0])]
    scaled = faces(contents, size=4, part="test").images()
    assert scaled[torch.tensor([0])].shape == (1, 4, 4, 3)


def test_names_are_those_of_images_in_order_without_hidden_companions(twenty, tmp_path):
    assert image_names(twenty) == list(NUMBERED)
    companions = {
        "__MACOSX/faces/._1.png": b"",
        ".thumbnails/1.png": b"",
        "b.PNG": b"",
        "a.jpg": b"",
    }
    write_zip(tmp_path / "mac.zip", companions)
    assert image_names(tmp_path / "mac.zip") == ["a.jpg", "b.PNG"]


def test_a_set_without_images_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"Expected images in .*, but there are none that end in"):
        image_names(tmp_path)
    write_zip(tmp_path / "whole.zip", NUMBERED)
    (tmp_path / "cut.zip").write_bytes((tmp_path / "whole.zip").read_bytes()[:500])
    with pytest.raises(DataError, match=r"cut.zip must be a folder or a whole zip file"):
        image_names(tmp_path / "cut.zip")


def test_images_are_told_from_tables(twenty, tmp_path):
    assert holds_images(twenty)
    assert not holds_images(tmp_path / "table.csv")
