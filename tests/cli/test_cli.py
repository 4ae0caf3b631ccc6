"""The command line, run as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from convcnp.cli import app
from helpers import ROOT, interrupted

FILE = str(ROOT / "experiments/table1/eq-cnp.toml")


def invoke(*arguments):
    """Run a command in this process."""
    return CliRunner().invoke(app, list(arguments))


def call(*arguments, cwd=ROOT):
    """Run the real command in a process of its own."""
    command = [sys.executable, "-m", "convcnp.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


def test_help_lists_the_commands_and_each_has_help():
    text = invoke("--help").output
    shown = [command for command in app.registered_commands if not command.hidden]
    names = [command.name or command.callback.__name__ for command in shown]
    assert {"run", "evaluate", "predict", "train", "check", "complete"} <= set(names)
    for command in names:
        assert command in text
        assert invoke(command, "--help").exit_code == 0


def test_a_smoke_run_ends_with_a_result_that_can_be_evaluated(tmp_path):
    done = call("run", FILE, "--smoke", "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "log-likelihood per target point" in done.stdout
    assert "step 6 of 6" in done.stderr
    again = json.loads(invoke("evaluate", str(tmp_path / "run"), "--json").output)
    told = json.loads((tmp_path / "run/result.json").read_text())
    assert again["log_likelihood"] == pytest.approx(told["log_likelihood"])
    assert again["num_tasks"] == told["num_tasks"] == 8
    fewer = invoke("evaluate", str(tmp_path / "run"), "--tasks", "3", "--seed", "9", "--json")
    assert json.loads(fewer.output)["num_tasks"] == 3
    assert json.loads(fewer.output)["seed"] == 9


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "missing.toml"], "Expected an experiment file, but missing.toml does not exist"),
        (["run", FILE, "--smoke", "--set", "training.lr=1"], "Unknown key 'training.lr'"),
        (["evaluate", "nothing"], "Expected the name of a shipped model"),
        (["table", "table99"], "Expected the name of a table"),
        (["table", "table1", "--format", "pdf"], "--format must be terminal, markdown or csv"),
        (["compare", "--series", "sunspot"], "got 'sunspot'; did you mean 'sunspots'?"),
        (["compare", "--methods", "gpp"], "got 'gpp'; did you mean 'gp'?"),
        (["figure", "figure99"], "Expected the name of a figure"),
        (["publish", "nowhere"], "Expected a finished run in nowhere"),
        (["run", FILE, "--smoke", "--accelerator", "tpo"], "--accelerator must be one that this"),
        (["evaluate", 300 * "a"], "cannot be (File name too long); check the path"),
        (["figure", "figure2", "--out", "/proc/nothing"], "/proc/nothing cannot"),
        (
            ["run", FILE, "--smoke", "--out", "/proc/run"],
            "Expected a directory that can be written",
        ),
    ],
    ids=lambda value: "-".join(value[:2]).replace("/", "") if isinstance(value, list) else "",
)
def test_a_mistake_gets_a_sentence_and_exit_code_2(arguments, sentence, monkeypatch, capsys):
    from convcnp.cli import main

    monkeypatch.setattr(sys, "argv", ["convcnp", *arguments])
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit) as stop:
        main()
    captured = capsys.readouterr()
    assert stop.value.code == 2
    assert sentence in " ".join(captured.err.split())
    assert captured.out == ""


def test_a_mistake_in_the_real_process_shows_no_traceback():
    done = call("evaluate", "nothing")
    assert done.returncode == 2
    assert done.stderr.startswith("Error: Expected the name of a shipped model")
    assert "Traceback" not in done.stderr


def test_an_interrupted_run_is_kept_and_says_how_to_go_on(tmp_path):
    changes = ["--set", "training.steps=100000", "--set", "training.validate_every=100000"]
    command = [sys.executable, "-m", "convcnp.cli", "run", FILE, "--smoke", *changes]
    errors = interrupted([*command, "--out", str(tmp_path)], tmp_path)
    assert "Stopped. The run is kept in" in errors
    assert "--resume goes on" in errors


def test_tables_come_in_three_forms():
    markdown = invoke("table", "table1", "--format", "markdown").output
    assert markdown.startswith("| Model | Parameters | EQ |")
    assert invoke("table", "table1", "--format", "csv").output.startswith("Model,Parameters,EQ")
    # A narrow terminal wraps long names; short ones stand whole.
    assert "CNP" in invoke("table", "table1").output


def test_compare_writes_result_files_that_the_table_shows(tmp_path):
    results = tmp_path / "real-series"
    done = invoke("compare", "--series", "hare", "--methods", "linear", "--out", str(results))
    assert done.exit_code == 0, done.output
    assert "hare, blocks, linear: log-likelihood" in done.stderr
    assert f"Wrote 1 result file to {results}." in " ".join(done.stdout.split())
    shown = invoke("table", "real-series", "--results", str(tmp_path), "--format", "csv").output
    assert shown.startswith("Series,Points,Removed,General model,Fitted GP,")
    assert "hare,91,blocks,—,—,—,—,—,—,-" in shown


def test_models_are_listed_for_people_and_for_machines():
    shipped = json.loads(invoke("models", "--json").output)
    listing = invoke("models").output
    for result in shipped:
        assert Path(result["name"]).name in listing
        assert result["bytes"] > 0
