"""A model of one's own: trained like any other run, used without its data, and hard to break."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch

import convcnp
from convcnp import Predictor
from convcnp.cli import main
from convcnp.data.images.folder import ImageFolder
from convcnp.data.images.photo import Photo
from convcnp.data.source import seeded
from convcnp.data.table import TableSource
from convcnp.errors import CheckpointError, DataError, OutputError, ShapeError, TableError
from convcnp.frames.reading import plain, read_table
from convcnp.frames.series import Rows
from convcnp.predict.completion import complete
from convcnp.storage import read_tensors
from helpers import (
    TINY,
    TINY_IMAGES,
    interrupted,
    picture,
    points_frame,
    saved,
    series_frame,
    write_pictures,
)

# Each kind of data: the fixture, the data in its folder, the source, and overrides.
KINDS = pytest.mark.parametrize(
    ("kind", "data", "source", "tiny"),
    [
        ("own_series", "table.csv", TableSource, TINY),
        ("own_images", "photos", ImageFolder, TINY_IMAGES),
    ],
    ids=["series", "images"],
)


def as_options(settings):
    return [part for setting in settings for part in ("--set", setting)]


@pytest.fixture
def command(monkeypatch, capsys):
    """Run a command in this process; return its exit code and what it said."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["convcnp", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return stop.value.code, " ".join((captured.out + captured.err).split())

    return run


def test_the_run_is_like_any_other_and_the_model_predicts_without_its_data(own_series, tmp_path):
    result = json.loads((own_series / "model/result.json").read_text())
    assert result["steps"] == 12
    assert result["experiment"]["data"]["path"].endswith("table.csv")
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("best.safetensors", "result.json"):
        (moved / name).write_bytes((own_series / "model" / name).read_bytes())
    description = (moved / "result.json").read_text().replace(str(own_series), "/gone")
    (moved / "result.json").write_text(description)
    frame = series_frame(3, seed=9)
    answer = convcnp.load(moved).predict(frame, 5)
    assert list(answer) == ["id", "t", "v_mean", "v_std", "v_q05", "v_q95"]
    assert answer["v_mean"].between(0, 20).all()
    assert len(answer) == 15


def test_predictions_have_the_units_of_the_training_table(own_series):
    predictor = convcnp.load(own_series / "model")
    frame = series_frame(1, seed=9)
    units = predictor.experiment.source().normaliser
    task = convcnp.Task.from_arrays(frame["t"], frame["v"], [3.0])
    seen = predictor.model(units.units(task).to_model(task))
    level, scale = (predictor.experiment.data[key][0] for key in ("level", "scale"))
    answer = predictor.predict(frame, [3.0])
    assert answer["v_mean"][0] == pytest.approx(level + scale * seen.mean.item(), rel=1e-5)
    assert answer["v_std"][0] == pytest.approx(scale * seen.stddev.item(), rel=1e-5)


def test_columns_are_those_of_training(own_series):
    predictor = convcnp.load(own_series / "model")
    frame = series_frame(2, seed=9).assign(other=1.0, date=np.arange(48.0))
    answer = predictor.predict(frame, 3)
    assert list(answer)[:3] == ["id", "t", "v_mean"]
    assert "other_mean" not in answer


def test_channels_keep_the_order_of_training_and_one_may_be_missing(tmp_path):
    frame = series_frame(6)
    frame = frame.assign(band=np.where(np.arange(len(frame)) % 2, "g", "r"))
    frame["v"] += 50 * (frame["band"] == "g")
    said = []
    fitted = Predictor.fit(frame, channel="band", minutes=0.1, settings=TINY, say=said.append)
    assert said[0].startswith("Learning 'g', 'r' over 't'")
    assert fitted.model.dim_y == 2
    answer = fitted.predict(frame[frame["id"] == "s0"], 3)
    assert (answer["g_mean"] > answer["r_mean"]).all()
    only_r = frame[(frame["id"] == "s0") & (frame["band"] == "r")]
    wide = only_r.rename(columns={"v": "r"}).drop(columns="band")
    assert fitted.predict(wide, 3)["g_mean"].notna().all()
    swapped = wide.assign(g=np.nan)
    first, second = (fitted.predict(swapped, 3, value=v) for v in (["r", "g"], ["g", "r"]))
    pd.testing.assert_frame_equal(first, second)


def test_a_fitted_model_is_saved_and_loaded(own_series, tmp_path):
    predictor = convcnp.load(own_series / "model")
    predictor.save(tmp_path / "copy")
    again = convcnp.load(tmp_path / "copy")
    frame = series_frame(1, seed=9)
    pd.testing.assert_frame_equal(again.predict(frame, 4), predictor.predict(frame, 4))
    with pytest.raises(OutputError, match=r"without a model, but .* holds one"):
        predictor.save(tmp_path / "copy")
    with pytest.raises(OutputError, match="Expected a directory that can be written"):
        predictor.save("/proc/model")


def test_fit_keeps_its_table_where_it_is_told_to(tmp_path):
    frame = series_frame(6)
    Predictor.fit(frame, tmp_path / "fit", minutes=0.1, settings=TINY)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "fit/table.csv"), frame)
    source = convcnp.load(tmp_path / "fit").experiment.source()
    assert len(source.held_out("test").own.x) == 24
    with pytest.raises(OutputError, match="Expected a new or empty directory"):
        Predictor.fit(frame, tmp_path / "fit", minutes=0.1, settings=TINY)


def test_long_tables_and_points_are_scored(own_points, tmp_path):
    frame = series_frame()
    frame["band"] = np.where(np.arange(len(frame)) % 2, "g", "r")
    fitted = Predictor.fit(frame, channel="band", settings=TINY)
    scores = fitted.score(frame[::3], frame[1::3])
    assert {name: one["values"] for name, one in scores.items()} == {"g": 48, "r": 48}
    points = points_frame(seed=3)
    predictor = convcnp.load(own_points / "model")
    (found,) = predictor.score(points[:80], points[80:]).values()
    assert found["values"] == 40


@pytest.mark.parametrize("kind", ["numbers for names", "spaces in names", "durations"])
def test_the_kept_table_reads_as_the_one_in_memory(kind, tmp_path):
    frame = series_frame()[["t", "v", "id"]]
    if kind == "numbers for names":
        frame = frame.set_axis([0, 1, 2], axis=1).drop(columns=2)
    elif kind == "spaces in names":
        frame = frame.rename(columns={"v": " v "})
    else:
        frame["t"] = pd.to_timedelta(frame["t"], unit="h")
    fitted = Predictor.fit(frame, tmp_path / "run", settings=TINY)
    source = fitted.experiment.source()
    kept, given = (
        Rows.of(table, source)
        for table in (read_table(tmp_path / "run/table.csv").frame, plain(frame))
    )
    assert kept.labels == given.labels
    np.testing.assert_allclose(kept.x, given.x)
    np.testing.assert_allclose(kept.y, given.y)
    assert len(fitted.predict(frame, 3)) >= 3


def test_a_model_of_images_completes_pictures_without_its_data(own_images, command, tmp_path):
    result = json.loads((own_images / "model/result.json").read_text())
    assert result["experiment"]["data"]["path"] == str((own_images / "photos").resolve())
    assert (result["training_images"], result["steps"]) == (6, 12)
    for name in ("best.safetensors", "result.json"):
        content = (own_images / "model" / name).read_bytes()
        (tmp_path / name).write_bytes(content.replace(bytes(own_images / "photos"), b"/gone"))
    photo = saved(tmp_path / "photo.png", picture(50, 70, seed=9))
    said = command("complete", photo, "--keep", "30%", "--model", tmp_path, "--out", tmp_path)[1]
    assert "Filled 70.0% of 70 x 50 pixels" in said
    assert Photo.read(tmp_path / "photo-completed.png").shape == (50, 70)


def test_images_are_fitted_in_python_and_tables_by_their_path(own_series, tmp_path):
    folder = write_pictures(tmp_path / "photos", channels=1)
    said = []
    fitted = Predictor.fit(folder, minutes=0.1, settings=TINY_IMAGES, say=said.append)
    assert said[0].startswith("Learning from 8 images of 24 x 20 pixels")
    photo = Photo.read(folder / "3.png")
    photo = photo.without(torch.rand(photo.shape) < 0.5)
    assert complete(fitted.model, photo).mean.isfinite().all()
    assert Predictor.fit(str(own_series / "table.csv"), minutes=0.1, settings=TINY).model.dim_x == 1


def test_images_and_tables_are_not_confused(own_images, own_series, command, tmp_path):
    table, photos = own_series / "table.csv", own_images / "photos"
    frame, images = series_frame(1), convcnp.load(own_images / "model")
    for call in (
        lambda: images.predict(frame, 3),
        lambda: images.sample(frame, 3),
        lambda: images.score(frame, frame),
    ):
        with pytest.raises(ShapeError, match="is a model of images, and takes no tables"):
            call()
    for arguments, sentence in (
        (["predict", table, "--model", own_images / "model"], "`convcnp complete PHOTO --model`"),
        (["check", own_images / "model", "--data", table], "takes no tables"),
        (["check", own_series / "model", "--data", photos], "is no model of images"),
        (["check", own_images / "model", "--data", photos, "--time", "t"], "no columns to name"),
        (["train", "--data", photos, "--group", "g", "--out", tmp_path / "m"], "--group names one"),
        (["train", "--resume", "--out", own_images / "model", "--time", "t"], "--time names one"),
        (
            ["complete", photos / "0.png", "--keep", "9%", "--model", own_series / "model"],
            "needs a model of images",
        ),
    ):
        code, said = command(*arguments)
        assert (code, sentence in said) == (2, True), said


# --- Bad input, and what survives it --------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "arguments", "sentence"),
    [
        ("", [], "but it is empty"),
        ("id,t,v\n", [], "Expected rows below the header"),
        ("id,t,v\na,1,2\na,2,x\na,3,4\na,4,5\n", [], "Expected a number in every cell of 'v'"),
        ("id,t,v\na,1,2\nb,2,3\nc,3,4\n", ["--group", "id"], "at least 3 rows with a value"),
        ("t,v\n" + "1,2\n" * 9, ["--time", "t"], "at least 5 series, or 60 rows"),
        ("id,t,v\na,1,2\n", ["--value", "w"], "Expected a column 'w'"),
        ("id,t,v\na,1,2\n", ["--inputs", "t"], "two different input columns"),
        ("id,t,v\na,1,2\n", ["--minutes", "-1"], "minutes must be a positive number"),
        ("id,t,v\na,1,2\n", ["--config", "no.toml"], "no.toml does not exist"),
        (None, ["--set", "model.points_per_unit=1e7"], "The grid must have at most"),
        (None, ["--out", "/proc/own"], "Expected a directory that can be written"),
        (None, ["--resume"], "Expected a run to continue in"),
    ],
    ids=[
        *("empty", "no rows", "mixed types", "one row each", "one short series", "wrong column"),
        *("one input", "minutes", "no config", "density", "no place", "nothing to resume"),
    ],
)
def test_bad_input_gets_a_sentence_and_leaves_nothing(
    command, tmp_path, content, arguments, sentence
):
    table = tmp_path / "table.csv"
    table.write_text(series_frame().to_csv(index=False) if content is None else content)
    out = ["--data", table, "--out", tmp_path / "out"]
    code, said = command("train", *out, *arguments)
    assert code == 2
    assert sentence in said
    assert list(tmp_path.iterdir()) == [table]


def no_images(folder):
    (folder / "notes.txt").write_text("no picture")


def broken_images(folder):
    path = write_pictures(folder) / "3.png"
    path.write_bytes(path.read_bytes()[:100])


def flat_images(folder):
    for i in range(6):
        saved(folder / f"{i}.png", np.full((9, 9), 20 * i, dtype=np.uint8))


@pytest.mark.parametrize(
    ("fill", "arguments", "sentence"),
    [
        (no_images, [], "Expected images in"),
        (broken_images, [], "1 of 8 in"),
        (lambda folder: write_pictures(folder, 1), [], "at least 5 images"),
        (lambda folder: write_pictures(folder, height=1, width=1), [], "0.png (1 x 1)"),
        (flat_images, [], "is of one shade"),
        (write_pictures, ["--inputs", "x"], "Images have no columns to name"),
        (write_pictures, ["--set", "data.window=[0, 3]"], "window must be a height and a width"),
        (write_pictures, ["--set", "data.windows=9"], "did you mean 'window'?"),
        (write_pictures, ["--out", "/proc/own"], "Expected a directory that can be written"),
        (write_pictures, ["--resume"], "Expected a run to continue in"),
    ],
    ids=[
        *("none", "broken", "one", "one pixel", "constant", "columns", "window", "unknown key"),
        *("no place", "nothing to resume"),
    ],
)
def test_bad_images_get_a_sentence_and_leave_nothing(command, tmp_path, fill, arguments, sentence):
    photos = tmp_path / "photos"
    photos.mkdir()
    fill(photos)
    out = ["--data", photos, "--out", tmp_path / "out"]
    code, said = command("train", *out, *arguments)
    assert code == 2
    assert sentence in said
    assert list(tmp_path.iterdir()) == [photos]


def test_images_of_different_sizes_are_trained_on(command, tmp_path):
    folder = write_pictures(tmp_path / "photos")
    for i, size in enumerate([(5, 40), (30, 6), (12, 12)]):
        saved(folder / f"other{i}.jpg", picture(*size, channels=1))
    tiny = as_options(TINY_IMAGES)
    code, said = command("train", "--data", folder, "--out", tmp_path / "out", *tiny)
    assert code == 0, said
    assert "Learning from 11 images of 6 x 5 to 40 x 30 pixels" in said
    assert (tmp_path / "out/result.json").exists()


def test_a_missing_table_is_named(command, tmp_path):
    code, said = command("train", "--data", tmp_path / "no.csv", "--out", tmp_path / "out")
    assert code == 2
    assert "there is no such file" in said
    code, said = command("train", "--data", tmp_path / "no.zip", "--out", tmp_path / "out")
    assert (code, "does not exist; check the path" in said) == (2, True)
    code, said = command("train", "--out", tmp_path / "out")
    assert (code, "name it with --data" in said) == (2, True)


def test_a_directory_that_holds_a_run_is_not_overwritten(own_series, command):
    before = (own_series / "model/best.safetensors").read_bytes()
    out = ["--data", own_series / "table.csv", "--out", own_series / "model"]
    code, said = command("train", *out)
    assert code == 2
    assert "exists; add --resume to go on" in said
    code, said = command("train", *out, "--resume", "--set", "training.seed=5")
    assert code == 2
    assert "must hold a run of the same experiment" in said
    assert (own_series / "model/best.safetensors").read_bytes() == before


@KINDS
def test_nan_in_the_loss_stops_says_since_when_and_keeps_the_last_good_weights(
    kind, data, source, tiny, request, command, tmp_path, monkeypatch
):
    folder, draw = request.getfixturevalue(kind), source.draw  # the folder before the poison

    def poisoned(self, batch_size, generator):
        bad = generator.initial_seed() == seeded(0, 9).initial_seed()
        task = draw(self, batch_size, generator)
        task.y_target = task.y_target * (1e30 if bad else 1.0)
        return task

    monkeypatch.setattr(source, "draw", poisoned)
    out = ["--data", folder / data, "--out", tmp_path / "out"]
    code, said = command("train", *out, *as_options(tiny))
    assert code == 2
    assert "must stay finite" in said
    assert "at step 9; the run up to step 8 is kept" in said
    tensors, _ = read_tensors(tmp_path / "out/checkpoint.safetensors")
    assert all(value.isfinite().all() for value in tensors.values())


@KINDS
def test_the_real_command_is_interrupted_and_resumed_to_the_same_weights(
    kind, data, source, tiny, request, tmp_path
):
    command = [sys.executable, "-m", "convcnp.cli", "train", "--out", str(tmp_path / "out")]
    changes = ["--set", "training.steps=60", "--set", "training.checkpoint_every=5"]
    path = str(request.getfixturevalue(kind) / data)
    given = ["--data", path, "--minutes", "0.1", *as_options(tiny), *changes]
    errors = interrupted([*command, *given], tmp_path / "out")
    assert "--resume goes on" in errors
    done = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    whole = tmp_path / "whole"
    subprocess.run([*command[:-1], str(whole), *given], capture_output=True, check=True)
    first, second = (read_tensors(d / "best.safetensors")[0] for d in (tmp_path / "out", whole))
    assert all(torch.equal(first[name], value) for name, value in second.items())


@pytest.mark.parametrize("damage", ["", 'data = "eq"\nmodel = "cnp"\n'])
def test_a_damaged_description_of_a_run_gets_a_sentence(own_series, command, tmp_path, damage):
    shutil.copytree(own_series / "model", tmp_path / "model")
    (tmp_path / "model/experiment.toml").write_text(damage)
    code, text = command("train", "--resume", "--out", tmp_path / "model")
    assert code == 2
    assert "Error:" in text


def test_a_run_does_not_go_on_with_another_table(own_series, tmp_path):
    frame = series_frame(6)
    Predictor.fit(frame, tmp_path / "fit", minutes=0.1, settings=TINY)
    (tmp_path / "fit/table.csv").write_text(series_frame(7).to_csv(index=False))
    from convcnp.training.own.choices import Wanted
    from convcnp.training.own.train import train_own

    with pytest.raises(TableError, match="its content has changed"):
        train_own(None, tmp_path / "fit", Wanted(), resume=True)
    with pytest.raises(CheckpointError, match="must hold a run of the same experiment"):
        train_own(own_series / "table.csv", tmp_path / "fit", Wanted(), resume=True)


def test_a_run_does_not_go_on_with_other_images(tmp_path):
    from convcnp.training.own.choices import Wanted
    from convcnp.training.own.train import train_own

    folder = write_pictures(tmp_path / "photos")
    Predictor.fit(folder, tmp_path / "fit", minutes=0.1, settings=TINY_IMAGES)
    saved(folder / "3.png", picture(seed=99))
    with pytest.raises(DataError, match="they have changed; restore them, or train anew"):
        train_own(None, tmp_path / "fit", Wanted(), resume=True)
    other = write_pictures(tmp_path / "other")
    with pytest.raises(CheckpointError, match="must hold a run of the same experiment"):
        train_own(other, tmp_path / "fit", Wanted(), resume=True)


def test_a_folder_that_was_killed_in_its_first_write_is_accepted_again(tmp_path, monkeypatch):
    from convcnp.storage import write_atomically
    from convcnp.training.own.train import check_out

    out = tmp_path / "out"
    with monkeypatch.context() as patch:  # as a kill would, between writing and renaming
        patch.setattr("pathlib.Path.replace", lambda *paths: None)
        write_atomically(out / "experiment.toml", b"cut sh")
    (out / ".lock").write_text("process 1 on nowhere")
    check_out(out, resume=False)
    with pytest.raises(CheckpointError, match="leave out resume=True to start one"):
        check_out(out, resume=True)


def test_a_folder_that_another_process_trains_in_is_refused_at_once(tmp_path):
    from convcnp.errors import OutputError
    from convcnp.training.lock import locked
    from convcnp.training.own.train import check_out

    with locked(tmp_path):
        for resume in (False, True):
            with pytest.raises(OutputError, match="is held by process"):
                check_out(tmp_path, resume=resume)
