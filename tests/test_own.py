"""A model of one's own: trained like any other run, used without its data, and hard to break."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
import torch

import convcnp
from convcnp import Predictor
from convcnp.cli import main
from convcnp.data.table import TableSource
from convcnp.errors import CheckpointError, OutputError, TableError
from convcnp.storage import read_tensors
from helpers import TINY, series_frame

SETTINGS = [part for setting in TINY for part in ("--set", setting)]


def settings_without(*names):
    kept = [s for s in TINY if not s.startswith(names)]
    return [part for setting in kept for part in ("--set", setting)]


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


# --- Bad input, and what survives it --------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "arguments", "sentence"),
    [
        ("", [], "but it is empty"),
        ("id,t,v\n", [], "Expected rows below the header"),
        ("id,t,v\na,1,2\na,2,x\na,3,4\na,4,5\n", [], "Expected a number in every cell of 'v'"),
        ("id,t,v\na,1,2\nb,2,3\nc,3,4\n", [], "at least 3 rows with a value"),
        ("t,v\n" + "1,2\n" * 9, [], "at least 5 series, or 60 rows"),
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


def test_a_missing_table_is_named(command, tmp_path):
    code, said = command("train", "--data", tmp_path / "no.csv", "--out", tmp_path / "out")
    assert code == 2
    assert "there is no such file" in said
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


def test_nan_in_the_loss_stops_says_since_when_and_keeps_the_last_good_weights(
    own_series, command, tmp_path, monkeypatch
):
    draw = TableSource.draw
    from convcnp.data.source import seeded

    def poisoned(self, batch_size, generator):
        bad = generator.initial_seed() == seeded(0, 9).initial_seed()
        task = draw(self, batch_size, generator)
        task.y_target = task.y_target * (1e30 if bad else 1.0)
        return task

    monkeypatch.setattr(TableSource, "draw", poisoned)
    out = ["--data", own_series / "table.csv", "--out", tmp_path / "out"]
    code, said = command("train", *out, *SETTINGS)
    assert code == 2
    assert "must stay finite" in said
    assert "at step 9; the run up to step 8 is kept" in said
    tensors, _ = read_tensors(tmp_path / "out/checkpoint.safetensors")
    assert all(value.isfinite().all() for value in tensors.values())


def test_the_real_command_is_interrupted_and_resumed_to_the_same_weights(own_series, tmp_path):
    command = [sys.executable, "-m", "convcnp.cli", "train", "--out", str(tmp_path / "out")]
    changes = ["--set", "training.steps=60", "--set", "training.checkpoint_every=5"]
    given = [
        *("--data", str(own_series / "table.csv"), "--minutes", "0.1", *changes),
        *settings_without("training.steps", "training.checkpoint_every"),
    ]
    process = subprocess.Popen([*command, *given], stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while not (tmp_path / "out/checkpoint.safetensors").exists():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "--resume goes on" in errors
    assert "Traceback" not in errors
    done = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    whole = tmp_path / "whole"
    subprocess.run([*command[:-1], str(whole), *given], capture_output=True, check=True)
    first, second = (read_tensors(d / "best.safetensors")[0] for d in (tmp_path / "out", whole))
    assert all(torch.equal(first[name], value) for name, value in second.items())


def test_a_run_does_not_go_on_with_another_table(own_series, tmp_path):
    frame = series_frame(6)
    Predictor.fit(frame, tmp_path / "fit", minutes=0.1, settings=TINY)
    (tmp_path / "fit/table.csv").write_text(series_frame(7).to_csv(index=False))
    from convcnp.choices import Wanted
    from convcnp.own import train_own

    with pytest.raises(TableError, match="its content has changed"):
        train_own(None, tmp_path / "fit", Wanted(), resume=True)
    with pytest.raises(CheckpointError, match="must hold a run of the same experiment"):
        train_own(own_series / "table.csv", tmp_path / "fit", Wanted(), resume=True)
