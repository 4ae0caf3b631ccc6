"""Commands for a user's own data."""

import json

import pytest

from helpers import TINY, invoke, series_frame


def test_a_model_is_trained_and_checked_by_two_commands(tmp_path):
    table = tmp_path / "table.csv"
    series_frame().to_csv(table, index=False)
    settings = [part for setting in TINY for part in ("--set", setting)]
    names = ["--time", "t", "--value", "v", "--group", "id"]
    done = invoke(
        "train", "--data", table, "--out", tmp_path / "model", "--minutes", 0.1, *names, *settings
    )
    assert done.exit_code == 0, done.output
    assert "model: log-likelihood per target point" in done.stdout
    assert "model.down = [4, 4], as given." in done.stderr  # brackets and all
    plot = tmp_path / "plot.png"
    checked = invoke("check", tmp_path / "model", "--data", table, "--tasks", 20, "--plot", plot)
    assert "v: the predicted uncertainty is" in checked.stdout
    assert "what training never saw of its data" in checked.stderr
    assert plot.exists()
    as_json = invoke("check", tmp_path / "model", "--data", table, "--tasks", 20, "--json")
    assert set(json.loads(as_json.stdout)["v"]) >= {"log_likelihood", "crps", "values"}


@pytest.mark.parametrize("command", ["train", "check"])
def test_what_is_needed_is_asked_for(command):
    done = invoke(command)
    assert done.exit_code == 2
    assert "Missing" in done.output


def test_a_model_of_points_is_checked_on_the_inputs_that_are_named(own_points):
    arguments = ["check", own_points / "model", "--data", own_points / "table.csv", "--tasks", 5]
    done = invoke(*arguments, "--inputs", "east", "--inputs", "north", "--json")
    assert json.loads(done.stdout).keys() == {"depth"}
    wrong = invoke(*arguments, "--inputs", "east", "--inputs", "up", "--json")
    assert "up" in str(wrong.exception)


def test_a_long_table_is_checked_by_the_column_that_tells_channels_apart(own_series, tmp_path):
    frame = series_frame().assign(kind="v").rename(columns={"v": "value"})
    frame.to_csv(tmp_path / "long.csv", index=False)
    names = ["--time", "t", "--group", "id", "--channel", "kind", "--value", "value"]
    done = invoke(
        "check",
        own_series / "model",
        "--data",
        tmp_path / "long.csv",
        "--tasks",
        5,
        *names,
        "--json",
    )
    assert json.loads(done.stdout).keys() == {"v"}
