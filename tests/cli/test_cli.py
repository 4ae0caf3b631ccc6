"""The command line, run as a user runs it."""

import subprocess
import sys
from importlib.metadata import version

import pytest

import convcnp
from convcnp.cli import app
from helpers import ROOT, call, invoke

FILE = str(ROOT / "experiments/table1/eq-cnp.toml")


def test_help_lists_the_commands_and_each_has_help():
    text = invoke("--help").output
    shown = [command for command in app.registered_commands if not command.hidden]
    names = [command.name or command.callback.__name__ for command in shown]
    assert {"run", "evaluate", "predict", "train", "check", "complete"} <= set(names)
    for command in names:
        assert command in text
        assert invoke(command, "--help").exit_code == 0


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


def test_the_version_is_that_of_the_package():
    assert invoke("--version").output == f"convcnp {convcnp.__version__}\n"
    assert convcnp.__version__ == version("convcnp")


def test_the_package_and_its_command_line_are_the_command():
    for module in ("convcnp", "convcnp.cli"):
        command = [sys.executable, "-m", module, "--version"]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == (
            f"convcnp {convcnp.__version__}\n"
        )
