"""Settings chosen from images: what they are, and that they can be given."""

import numpy as np
import pytest

from convcnp.errors import DataError, ExperimentError, SettingError
from convcnp.frames.columns import Columns
from convcnp.training.own import choices
from convcnp.training.own.choices import Wanted
from convcnp.training.own.images import plan_images
from helpers import picture, saved, write_pictures


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Take a pace as given in place of a rehearsal."""
    monkeypatch.setattr(choices, "_rehearse", lambda *_: choices._Pace(0.5, 0.05))


def planned(folder, overrides=(), minutes=10.0, **names):
    said = []
    wanted = Wanted.of(Columns.named(**names), overrides=overrides, minutes=minutes)
    return plan_images(folder, wanted, said.append).experiment, " ".join(said)


def test_small_images_of_one_size_stay_as_they_are(tmp_path):
    folder = write_pictures(tmp_path / "set", height=20, width=28, channels=1)
    experiment, said = planned(folder)
    assert experiment.data["window"] == (20, 28)
    assert experiment.data["dim_y"] == 1
    assert experiment.data["path"] == str(folder.resolve())
    assert len(experiment.data["digest"]) == 16
    assert experiment.model["kernel_size"] == 7  # it sees 16 pixels to either side, of 28
    for sentence in (
        "Learning from 8 images of 28 x 20 pixels: a tenth chooses",
        "A task is a whole image.",
        "in grey, as none has any colour",
        "In 50% of the tasks boxes are hidden; in the others all but 1% to 50% of the pixels",
        "No standard deviation is below 0.01",
        "sees 16 pixels to either side",
        "A step sees 4 tasks, of some 560 grid cells each",
        "Training takes 900 steps, as a step takes 500 ms and 10 minutes were given",
    ):
        assert sentence in said


def test_larger_images_and_those_of_several_sizes_are_seen_through_windows(tmp_path):
    folder = write_pictures(tmp_path / "set", height=90, width=40)
    experiment, said = planned(folder)
    assert experiment.data["window"] == (48, 40)
    assert "a window of 40 x 48 pixels, cut out at random; the model completes images of" in said
    assert "in colour, as 8 of 8 have some" in said
    small = write_pictures(tmp_path / "small", height=12, width=30)
    saved(small / "tall.png", picture(40, 10))
    experiment, said = planned(small)
    assert experiment.data["window"] == (40, 30)
    assert "of 10 x 12 to 30 x 40 pixels" in said
    assert "A task is a whole image" in said


def test_every_choice_can_be_given(tmp_path):
    folder = write_pictures(tmp_path / "set")
    given = ["data.window=[9, 8]", "data.dim_y=1", "data.boxes=0", "training.steps=7"]
    experiment, said = planned(folder, [*given, "model.kernel_size=3", "model.sigma_floor=0.1"])
    assert experiment.data["window"] == (9, 8)
    assert experiment.source().dim_y == 1
    assert experiment.model["kernel_size"] == 3
    assert experiment.model["sigma_floor"] == 0.1
    assert experiment.training.steps == 7
    assert "data.window = [9, 8], as given." in said
    assert planned(folder, ["model=grid-convcnpxl"])[0].model["name"] == "grid-convcnpxl"
    assert "with its own settings" in planned(folder, ["model=image-attncnp"])[1]


def test_what_images_do_not_have_is_refused(tmp_path):
    folder = write_pictures(tmp_path / "set")
    with pytest.raises(SettingError, match="no columns to name, but time= and group= names one"):
        planned(folder, time="t", group="id")
    with pytest.raises(SettingError, match="at most 262,144 pixels, got 900 x 800; a model of"):
        planned(folder, ["data.window=[800, 900]"])
    with pytest.raises(ExperimentError, match=r"Unknown key 'data.gap'"):
        planned(folder, ["data.gap=[1.0]"])


def test_images_with_nothing_to_learn_from_are_refused(tmp_path):
    with pytest.raises(DataError, match="at least 5 images, some of which are held out, got 1"):
        planned(write_pictures(tmp_path / "one", count=1))
    folder = write_pictures(tmp_path / "small")
    saved(folder / "dot.png", np.zeros((1, 1), dtype=np.uint8))
    with pytest.raises(DataError, match=r"at least 4 pixels .* got dot.png \(1 x 1\) in"):
        planned(folder)
    (tmp_path / "flat").mkdir()
    for i in range(6):
        saved(tmp_path / f"flat/{i}.png", np.full((8, 8, 3), 40 * i, dtype=np.uint8))
    with pytest.raises(DataError, match=r"each of the 6 in .* is of one shade"):
        planned(tmp_path / "flat")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"Expected images in .*, but there are none that end in"):
        planned(tmp_path / "empty")
