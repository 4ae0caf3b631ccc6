"""CelebA, made up by the tests."""

import io
import zipfile

import numpy as np
import pytest
import torch
from PIL import Image

from convcnp.data.images.celeba import CelebA
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


def shades(images) -> list[int]:
    return images[torch.arange(len(images))][:, -1, -1, 0].tolist()


@pytest.fixture
def faces(tmp_path, monkeypatch):
    """Write files as CelebA's; return a function that gives the source."""
    monkeypatch.setenv("CONVCNP_DATA", str(tmp_path))

    def source(contents, **options):
        (tmp_path / "celeba").mkdir(exist_ok=True)
        write_zip(tmp_path / "celeba/img_align_celeba.zip", contents)
        return CelebA(**options)

    return source


def test_parts_follow_the_order_of_names(faces):
    source = faces(NUMBERED, size=None)
    assert shades(source.images()) == [10 * i for i in range(1, 17)]
    assert shades(source.held_out("validation").images()) == [170, 180]
    assert shades(source.held_out("test").images()) == [190, 200]


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


def test_impossible_sizes_are_refused():
    with pytest.raises(ConvCNPError, match="size must be a positive number, got 0"):
        CelebA(size=0)
