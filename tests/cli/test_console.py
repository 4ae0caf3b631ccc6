"""What the command line says."""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from convcnp.cli.console import complain, in_options, say, show_table, warn, warnings_said
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


def test_colons_make_no_pictures(capsys):
    complain("a column :smile: is missing.")
    show_table([":smile:"], [[":heart:"]])
    captured = capsys.readouterr()
    assert ":smile:" in captured.err
    assert ":heart:" in captured.out


def test_a_sentence_that_quotes_a_book_is_shortened(capsys):
    complain(10**6 * "a")
    assert len(capsys.readouterr().err) < 5000


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_error_leaves_the_exit_code():
    code = "import sys; from convcnp.cli import main; sys.argv[1:] = ['predict', 'no.csv']; main()"
    with Path("/dev/full").open("w") as full:
        assert subprocess.run([sys.executable, "-c", code], stderr=full).returncode == 2
    closed = subprocess.run(f'"{sys.executable}" -c "{code}" 2>&-', shell=True)
    assert closed.returncode == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name one with time=.", "name one with --time."),
        ("with time= ('t' may be it)", "with --time ('t' may be it)"),
        ('an empty group: group="".', 'an empty group: --group "".'),
        ("give time='my day' to average", "give --time 'my day' to average"),
        ("add resume=True to go on", "add --resume to go on"),
        ("leave it out with max_gap=, or", "leave it out with --max-gap, or"),
        ("a limit, upper=100 keeps", "a limit, --upper 100 keeps"),
        ("lower=-0.5 or lower= or", "--lower -0.5 or --lower or"),
        ("the column 'a=' of y=x, k=3 and f=Trues", "the column 'a=' of y=x, k=3 and f=Trues"),
    ],
)
def test_parameters_become_options(text, said):
    assert in_options(text) == said
