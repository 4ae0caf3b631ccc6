"""The command line, run as a user runs it."""

import contextlib
import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import convcnp.__main__
from convcnp.cli import app, main
from convcnp.cli.experiments import say_if_new
from convcnp.training.checkpoint import CHECKPOINT
from helpers import ROOT, call, invoke

FILE = str(ROOT / "experiments/table1/eq-cnp.toml")


def test_help_lists_the_commands_and_each_has_help():
    text = invoke("--help").output
    shown = [command for command in app.registered_commands if not command.hidden]
    names = [c.name or c.callback.__name__.replace("_", "-") for c in shown]
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
        (
            ["run", FILE, "--smoke", "--accelerator", "tpo"],
            "accelerator, devices and precision must be what this",
        ),
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


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        MemoryError("Unable to allocate 8 TiB"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"),
        RuntimeError("Storage size calculation overflowed with sizes=[9]"),
    ],
)
def test_running_out_of_memory_is_a_sentence(error, monkeypatch, capsys):
    def app():
        raise error

    monkeypatch.setattr("convcnp.cli.app", app)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "Expected this to fit into memory, but there is not enough" in said
    assert said.endswith("more.")


def test_other_errors_of_ours_keep_their_traceback(monkeypatch):
    def app():
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr("convcnp.cli.app", app)
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        main()


@pytest.mark.parametrize("error", [KeyboardInterrupt, AttributeError])
def test_an_interruption_while_a_command_starts_is_no_traceback(monkeypatch, capsys, error):
    """Half an import may fail in other ways, after the interruption."""

    def interrupted():
        with contextlib.suppress(*([] if error is KeyboardInterrupt else [KeyboardInterrupt])):
            signal.raise_signal(signal.SIGINT)
        raise error

    monkeypatch.setattr("convcnp.cli.main", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit) as stopped:
            convcnp.__main__.main()
    finally:
        signal.signal(signal.SIGINT, before)
    assert stopped.value.code == 130
    assert capsys.readouterr().err == "Stopped.\n"


def test_little_is_imported_before_the_command_takes_hold_of_interruptions():
    code = "import sys, convcnp.__main__; print(*sys.modules)"
    source = Path(convcnp.__main__.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(source)},
    )
    assert not {"typing", "pathlib", "difflib", "typer"} & set(done.stdout.split())


def test_other_errors_of_ours_are_no_interruption(monkeypatch):
    def broken():
        raise AttributeError("a mistake of ours")

    monkeypatch.setattr("convcnp.cli.main", broken)
    monkeypatch.setattr("signal.getsignal", lambda number: None)  # leave that of the tests
    with pytest.raises(AttributeError, match="a mistake of ours"):
        convcnp.__main__.main()


def test_a_command_that_is_interrupted_says_so(monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("convcnp.predict.zoo.available", interrupted)
    done = invoke("models")
    assert done.exit_code == 130
    assert "Stopped." in done.stderr


def test_a_run_without_a_checkpoint_says_that_it_starts_afresh(tmp_path, capsys):
    say_if_new(tmp_path, resume=True)
    assert "no checkpoint in" in capsys.readouterr().err
    (tmp_path / CHECKPOINT).touch()
    say_if_new(tmp_path, resume=True)
    say_if_new(tmp_path / "new", resume=False)
    assert capsys.readouterr().err == ""
