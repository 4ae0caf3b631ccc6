"""Folders and zip files of images, made by the tests."""

import io
import zipfile

import numpy as np
import pytest
import torch
from PIL import Image

from convcnp.data import image_files
from convcnp.data.image_files import CelebA, ImageFolder
from convcnp.data.source import seeded
from convcnp.errors import ConvCNPError, DataError


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


def shades(images) -> list[int]:
    return images[torch.arange(len(images))][:, -1, -1, 0].tolist()


def test_parts_follow_the_order_of_names(twenty):
    source = ImageFolder(path=str(twenty), size=None)
    assert shades(source.images()) == [10 * i for i in range(1, 17)]
    assert shades(source.held_out("validation").images()) == [170, 180]
    assert shades(source.held_out("test").images()) == [190, 200]


def test_images_come_in_their_size_or_scaled_in_colour_or_grey(twenty):
    some = torch.tensor([2, 0, 2])
    images = ImageFolder(path=str(twenty), size=None).images()[some]
    assert images.shape == (3, 4, 6, 3)
    assert images.dtype == torch.uint8
    assert images[:, 0, 0].unique().tolist() == [0]
    assert images[:, 1, 1, 0].tolist() == [30, 10, 30]
    assert ImageFolder(path=str(twenty), size=8).images()[some].shape == (3, 8, 8, 3)
    grey = ImageFolder(path=str(twenty), size=None, dim_y=1)
    assert grey.images()[some].shape == (3, 4, 6, 1)
    assert grey.draw(2, seeded(0)).dim_y == 1


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
        images = ImageFolder(path=str(twenty), size=None).images()
        decoded.clear()
        for _ in range(3):
            assert images[torch.tensor([5])][0, 1, 1, 0] == 60
        assert len(decoded) == times


def test_celeba_is_split_officially_if_it_is_whole():
    assert CelebA().part_ends(202_599) == (162_770, 182_637, 202_599)
    assert CelebA().part_ends(10_000) == (8000, 9000, 10_000)


def test_celeba_is_found_whole_or_as_a_subset_that_is_large_enough(tmp_path, monkeypatch):
    monkeypatch.setenv("CONVCNP_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"img_align_celeba.zip or img_align_celeba or .* in the"):
        CelebA(size=32).images()
    (tmp_path / "celeba").mkdir()
    names = {
        "img_align_celeba_first10000_89x109.zip": 32,
        "img_align_celeba_first100_178x218.zip": None,
    }
    for name in names:
        write_zip(tmp_path / "celeba" / name, NUMBERED)
    for name, size in names.items():
        assert CelebA(size=size).file().name == name
    write_zip(tmp_path / "celeba/img_align_celeba.zip", NUMBERED)
    assert CelebA(size=32).file().name == "img_align_celeba.zip"
    assert len(CelebA(size=32).images()) == 16


@pytest.mark.parametrize("content", [b"", b"nothing", png(9)[:40], png(9)[:-30]])
def test_a_broken_image_is_named(tmp_path, content):
    write_zip(tmp_path / "set.zip", {"1.png": png(1), "2.png": content})
    images = ImageFolder(path=str(tmp_path / "set.zip"), size=None, part="test").images()
    with pytest.raises(DataError, match=r"2.png in .*set.zip must be a whole image.*get it again"):
        images[torch.tensor([len(images) - 1])]


def test_a_broken_zip_file_is_named(tmp_path):
    write_zip(tmp_path / "whole.zip", NUMBERED)
    (tmp_path / "cut.zip").write_bytes((tmp_path / "whole.zip").read_bytes()[:500])
    with pytest.raises(DataError, match=r"cut.zip must be a folder or a whole zip file"):
        ImageFolder(path=str(tmp_path / "cut.zip")).images()


def test_a_set_without_images_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"Expected images in .*, but there are none that end in"):
        ImageFolder(path=str(tmp_path)).images()
    with pytest.raises(DataError, match=r"nowhere does not exist; check data.path"):
        ImageFolder(path=str(tmp_path / "nowhere")).images()


def test_images_of_different_sizes_need_a_size(tmp_path):
    write_zip(tmp_path / "set.zip", {"1.png": png(1), "2.png": png(2, size=(5, 5))})
    images = ImageFolder(path=str(tmp_path / "set.zip"), size=None, part="test").images()
    with pytest.raises(DataError, match=r"one size, got \(4, 6\) for 1.png and \(5, 5\) for 2.png"):
        images[torch.tensor([0])]
    scaled = ImageFolder(path=str(tmp_path / "set.zip"), size=4, part="test").images()
    assert scaled[torch.tensor([0])].shape == (1, 4, 4, 3)


def test_impossible_settings_are_refused():
    with pytest.raises(ConvCNPError, match="size must be a positive number, got 0"):
        ImageFolder(size=0)
    with pytest.raises(ConvCNPError, match="dim_y must be 1 for grey or 3 for colour, got 2"):
        ImageFolder(dim_y=2)
