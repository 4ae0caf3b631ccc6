"""What the command line says."""

import warnings

import pytest

from convcnp.cli.console import complain, say, show_table, warn, warnings_said
from convcnp.errors import ConvCNPWarning


@pytest.mark.parametrize(
    ("speak", "start"),
    [(say, ""), (warn, "Warning: "), (complain, "Error: ")],
    ids=["say", "warn", "complain"],
)
def test_brackets_are_said_as_they_are(speak, start, capsys):
    speak("model.down = [4, 4], [bold]not[/] bold.")
    captured = capsys.readouterr()
    assert captured.err == f"{start}model.down = [4, 4], [bold]not[/] bold.\n"
    assert captured.out == ""


def test_a_long_sentence_stays_one_line(capsys):
    say("word " * 100)
    assert capsys.readouterr().err.count("\n") == 1


def test_a_table_has_a_title_and_its_cells(capsys):
    show_table(["a", "b"], [["1", "[2]"]], title="Numbers", caption="of two columns", whole=["a"])
    shown = capsys.readouterr().out
    for text in ("Numbers", "1", "[2]", "of two"):
        assert text in shown


def test_our_warnings_are_said_once_and_when_they_come():
    said = []
    with warnings_said(said.append):
        warnings.warn("mind the gap", ConvCNPWarning, stacklevel=1)
        assert said == ["mind the gap"]
        warnings.warn("mind the gap", ConvCNPWarning, stacklevel=1)
        warnings.warn("mind the step", ConvCNPWarning, stacklevel=1)
    assert said == ["mind the gap", "mind the step"]


def test_other_warnings_stay_what_they_are():
    said = []
    with pytest.warns(DeprecationWarning, match="old"), warnings_said(said.append):
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    assert said == []


def test_warnings_are_said_before_an_error_leaves():
    said = []
    with pytest.raises(ValueError, match="end"), warnings_said(said.append):
        warnings.warn("mind the gap", ConvCNPWarning, stacklevel=1)
        raise ValueError("end")
    assert said == ["mind the gap"]
