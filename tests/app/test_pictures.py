import base64
import io
import json
import struct
import zlib

import numpy as np
import pytest
import torch
from PIL import Image

from convcnp.app.limits import Limits
from convcnp.app.pictures import Picture
from convcnp.data.images.photo import Photo
from convcnp.errors import DataError
from convcnp.predict.completion import all_but, fill
from convcnp.predict.zoo import load

MODEL = "mnist-convcnp-long"


def png(pixels):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def pixels_of(content):
    return np.array(Image.open(io.BytesIO(content)))


GREY = (np.add.outer(np.arange(20), np.arange(24)) * 5).astype(np.uint8)


@pytest.fixture
def picture(visitor):
    answer = visitor.post("/api/pictures?name=grey.png", png(GREY))
    assert answer.status == 200, answer.content
    return answer.json["picture"]


def completed(visitor, picture, **question):
    answer = visitor.post("/api/complete", {"picture": picture, "model": MODEL, **question})
    assert answer.status == 200, answer.content
    *steps, last = map(json.loads, answer.content.splitlines())
    assert steps[-1]["done"] == steps[-1]["total"]
    return last


def part(visitor, completion, name):
    answer = visitor.get(f"/api/completions/{completion}/{name}.png")
    assert answer.headers["content-type"] == "image/png"
    return pixels_of(answer.content)


def test_a_share_of_the_pixels_is_kept_and_the_rest_filled_as_by_the_command(visitor, picture):
    found = completed(visitor, picture, keep=0.2, seed=3)
    photo = Photo(torch.from_numpy(GREY)[..., None], torch.zeros(20, 24, dtype=torch.bool))
    photo = photo.without(all_but("20%", photo.shape, 3))
    expected = fill(load(MODEL).model, photo)
    shown = part(visitor, found["completion"], "completed")
    np.testing.assert_array_equal(shown, expected.pixels[..., 0])
    assert found["command"] == f"convcnp complete grey.png --keep 0.2 --seed 3 --model {MODEL}"
    assert f"with {MODEL}" in found["sentence"]
    given = part(visitor, found["completion"], "given")
    np.testing.assert_array_equal(given[..., 3] == 0, photo.missing)
    doubt = part(visitor, found["completion"], "doubt")
    assert not doubt[~photo.missing.numpy()].any() and doubt.max() == 255


def test_a_painted_mask_is_what_is_missing(visitor, picture):
    mask = np.zeros((20, 24), dtype=bool)
    mask[5:9, 3:11] = True
    text = base64.b64encode(np.packbits(mask)).decode()
    found = completed(visitor, picture, mask=text)
    given = part(visitor, found["completion"], "given")
    np.testing.assert_array_equal(given[..., 3] == 0, mask)
    shown = part(visitor, found["completion"], "completed")
    np.testing.assert_array_equal(shown[~mask], GREY[~mask])
    assert "--mask mask.png" in found["command"]


def test_transparent_pixels_are_missing(visitor):
    colours = np.dstack([GREY, GREY, GREY, np.where(GREY > 90, 255, 0).astype(np.uint8)])
    answer = visitor.post("/api/pictures", png(colours)).json
    assert answer["missing"] == int((GREY <= 90).sum())
    shown = pixels_of(visitor.get(f"/api/pictures/{answer['picture']}.png").content)
    np.testing.assert_array_equal(shown[..., 3], colours[..., 3])
    assert completed(visitor, answer["picture"])["doubt"] > 0


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ({}, "all of grey.png are there"),
        ({"keep": 0}, "keep"),
        ({"keep": 2}, "keep"),
        ({"mask": "not base64"}, "bytes as base64"),
        ({"mask": "AAAA"}, "a bit for each of 24 x 20 pixels"),
        ({"keep": 0.5, "model": "general"}, "model of images"),
        ({"keep": 0.5, "model": "mnist-attncnp"}, "model of images"),
        ({"keep": 0.5, "model": "/tmp"}, "shipped model"),
    ],
)
def test_a_wrong_question_is_a_sentence(visitor, picture, question, sentence):
    answer = visitor.post("/api/complete", {"picture": picture, "model": MODEL, **question})
    assert answer.status == 422
    assert sentence in answer.sentence


def bomb(width, height):
    """A PNG of a few bytes that claims to hold more pixels than any memory."""

    def chunk(kind, content):
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(bytes(1000))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    "content",
    [b"", b"words", bomb(100_000, 100_000), png(GREY)[:-40], b"GIF89a" + bytes(20), b"%!PS-Adobe"],
    ids=["empty", "words", "bomb", "cut", "gif", "postscript"],
)
def test_what_is_no_picture_is_a_sentence(visitor, content):
    answer = visitor.post("/api/pictures?name=x.png", content)
    assert answer.status == 422
    assert "x.png cannot be read" in answer.sentence
    assert visitor.get("/api/examples").status == 200


def test_pixels_are_limited_before_they_are_decoded():
    with pytest.raises(DataError, match="at most 100 are decoded"):
        Picture.read(png(GREY), "a.png", Limits(pixels=100))


def test_unknown_names_are_a_sentence(visitor):
    for path in ("/api/completions/x/doubt.png", "/api/pictures/x.png"):
        answer = visitor.get(path)
        assert answer.status == 404 and "give the file again" in answer.sentence
    assert visitor.get("/api/completions/x/other.png").status == 422
