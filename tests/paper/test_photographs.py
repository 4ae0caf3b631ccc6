"""Photographs that lost pixels: what methods are given, and how they are scored."""

import json

import pytest
import torch

from convcnp.data.images.photo import Photo
from convcnp.errors import ConvCNPError
from convcnp.paper import photographs
from convcnp.paper.damages import DAMAGES
from convcnp.paper.photographs import (
    METHODS,
    PHOTOS,
    Answer,
    NamedFiller,
    compare_photographs,
    damaged,
    photograph,
    score,
)
from convcnp.training.run import read_result

pytest.importorskip("skimage")
pytest.importorskip("cv2")


@pytest.fixture
def small(monkeypatch):
    """Cut the photographs, so that every method takes a moment."""
    whole = photographs.photograph
    corner = (slice(60, 100), slice(60, 108))

    def cut(name: str) -> Photo:
        photo = whole(name)
        return Photo(photo.stored[corner], photo.missing[corner])

    monkeypatch.setattr(photographs, "photograph", cut)


@pytest.mark.parametrize("name", PHOTOS)
def test_photographs_are_there_in_half_their_size_and_whole(name):
    photo = photograph(name)
    assert 100 < min(photo.shape) < max(photo.shape) + 1 < 400
    assert photo.stored.shape[-1] == (1 if name == "camera" else 3)
    assert not photo.missing.any()


def test_photographs_lose_different_pixels():
    assert not torch.equal(
        damaged("astronaut", "boxes").missing, damaged("camera", "boxes").missing
    )


def test_scores_are_of_the_lost_pixels_which_no_method_sees():
    pixels = torch.full((16, 16, 1), 0.5)
    missing = torch.zeros(16, 16, dtype=torch.bool)
    missing[4:8, 4:8] = True
    missing[0, 0] = True
    given = []

    def method(photo: Photo) -> Answer:
        given.append(photo)
        wrong = torch.where(photo.missing[..., None], 0.6, 0.9)  # of the others nothing is asked
        stddev = torch.full_like(wrong, 0.05)
        stddev[0, 0] = 0.1
        return Answer(wrong, stddev)

    found = score(method, Photo(pixels, missing))
    assert not given[0].pixels[missing].any()
    assert found["missing"] == pytest.approx(17 / 256)
    assert found["psnr"] == pytest.approx(20.0, abs=1e-4)
    assert found["coverage90"] == pytest.approx(1 / 17)  # 0.1 is two deviations, or one
    assert found["seconds"] >= 0


def test_what_is_filled_perfectly_is_perfectly_similar():
    photo = damaged("cat", "text")
    found = score(lambda given: Answer(photo.pixels + 1e-6), photo)
    assert found["ssim"] == pytest.approx(1, abs=1e-4)
    assert found["psnr"] > 100
    assert "coverage90" not in found


@pytest.mark.parametrize("method", [name for name in METHODS if name != "general"])
@pytest.mark.parametrize("photo", ["cat", "camera"])
def test_every_method_fills_colour_and_grey_better_than_black_does(method, photo, small):
    lost = damaged(photo, "scratches")
    fill = METHODS[method].build()
    answer = fill(lost)
    assert answer.pixels.shape == lost.stored.shape
    assert torch.allclose(answer.pixels[~lost.missing], lost.pixels[~lost.missing], atol=1 / 255)
    black = score(lambda given: Answer(given.pixels), lost)
    assert score(fill, lost)["psnr"] > black["psnr"] + 6


def test_results_are_merged_and_say_where_they_come_from(tmp_path, small, monkeypatch):
    plain = NamedFiller("Black", lambda: lambda photo: Answer(photo.pixels))
    monkeypatch.setitem(METHODS, "telea", plain)
    reports = []
    for methods in (["telea"], ["navier-stokes"], ["telea"]):
        paths = compare_photographs(
            *(["cat"], methods, tmp_path, ["text", "boxes"]),
            report=lambda *report: reports.append(report[:2]),
        )
    assert paths == [tmp_path / "cat.json"]
    assert reports == [("cat", "telea"), ("cat", "navier-stokes"), ("cat", "telea")]
    content = read_result(paths[0], "methods")
    assert list(content["methods"]) == ["telea", "navier-stokes"]
    assert list(content["methods"]["telea"]["scores"]) == ["boxes", "text"]
    assert "scikit-image" in content["methods"]["telea"]["origin"]["versions"]
    assert json.loads(paths[0].read_text())["source"].startswith("scikit-image, chelsea.png")


def test_unknown_names_are_refused(tmp_path):
    for arguments in ((["dog"], ["telea"]), (["cat"], ["magic"])):
        with pytest.raises(ConvCNPError, match="one of"):
            compare_photographs(*arguments, tmp_path)
    with pytest.raises(ConvCNPError, match="one of"):
        compare_photographs(["cat"], ["telea"], tmp_path, ["fire"])
    assert set(DAMAGES) == {"keep5", "keep20", "boxes", "scratches", "text"}
