"""Pictures of a completed photograph."""

import numpy as np
import pytest
import torch
from PIL import Image

from convcnp.data.images.photo import Photo
from convcnp.errors import OutputError
from convcnp.plots.completion import draw_completion, write_completion
from convcnp.predict.completion import Completion
from helpers import random_photo


def test_pictures_are_written(tmp_path):
    photo = random_photo(3)
    completion = Completion(photo, torch.full((20, 24, 3), 0.5), torch.full((20, 24, 3), 0.2))
    completed, stddev, figure = write_completion(completion, tmp_path / "new", "photo")
    arrays = []
    for path in (completed, stddev, figure):
        with Image.open(path) as image:
            arrays.append(np.array(image))
    assert (arrays[0] == (255 * completion.pixels).round().byte().numpy()).all()
    assert (arrays[1] == 255 * photo.missing.numpy()).all()
    assert arrays[2].shape[1] > 1000
    (tmp_path / "file").touch()
    with pytest.raises(
        OutputError, match=r"Expected a directory that can be written, but .*file cannot"
    ):
        write_completion(completion, tmp_path / "file", "photo")


def test_the_figure_shows_what_was_given_what_came_of_it_and_the_doubt():
    photo = random_photo(3)
    completion = Completion(photo, torch.full((20, 24, 3), 0.5), torch.full((20, 24, 3), 0.2))
    given, completed, doubt = draw_completion(completion).axes[:3]
    assert [axes.get_title() for axes in (given, completed, doubt)] == [
        *("given", "completed", "standard deviation")
    ]
    shown = [torch.as_tensor(axes.images[0].get_array()) for axes in (given, completed, doubt)]
    assert not shown[0][photo.missing].any()  # black
    assert torch.equal(shown[0][~photo.missing], photo.pixels[~photo.missing])
    assert torch.equal(shown[1], completion.pixels)
    assert torch.equal(shown[2], completion.doubt)


def test_all_pictures_are_written_or_none(tmp_path, monkeypatch):
    photo = random_photo(3)
    completion = Completion(photo, torch.full((20, 24, 3), 0.5), torch.full((20, 24, 3), 0.2))
    blocked = tmp_path / "out" / "photo-figure.png"
    blocked.mkdir(parents=True)
    with pytest.raises(OutputError, match="cannot"):
        write_completion(completion, tmp_path / "out", "photo")
    assert list((tmp_path / "out").iterdir()) == [blocked]


def test_a_figure_of_a_large_picture_shows_fewer_pixels():
    blank = torch.zeros(10, 4001, 1)
    photo = Photo(blank, torch.ones(10, 4001, dtype=torch.bool))
    figure = draw_completion(Completion(photo, blank, blank + 0.1))
    assert figure.axes[0].images[0].get_array().shape == (2, 801, 3)


@pytest.mark.parametrize("shape", [(1, 200), (200, 1)])
def test_the_figure_of_a_long_picture_has_a_bounded_size(shape):
    missing = torch.ones(shape, dtype=torch.bool)
    blank = torch.zeros(*shape, 1)
    figure = draw_completion(Completion(Photo(blank, missing), blank, blank + 0.1))
    assert 1 < figure.get_figheight() < 13
