"""Where commands write."""

import io
import sys

import pandas as pd
import pytest

from convcnp.cli.output import check_outputs, write_answer, write_files
from convcnp.errors import OutputError

ANSWER = pd.DataFrame({"t": [1, 2], "v_mean": [0.5, 1.5]})


@pytest.mark.parametrize(
    ("out", "plot", "sentence"),
    [
        ("answer.txt", None, r"--out must end in \.csv or \.parquet, got .*answer\.txt"),
        (None, "plot.jpg", r"--plot must end in \.png, \.svg or \.pdf, got .*plot\.jpg"),
        ("nowhere/answer.csv", None, "the folder .*nowhere does not exist; make it"),
        ("table.csv/answer.csv", None, r"the folder .*table\.csv is no folder"),
        ("folder.csv", None, r"folder\.csv is a folder; name a file in it"),
        ("table.csv", None, "another file to write than the tables that are read"),
        (300 * "a" + ".csv", None, r"cannot be \(File name too long\)"),
    ],
)
def test_what_cannot_be_written_is_refused_before_any_work(tmp_path, out, plot, sentence):
    (tmp_path / "table.csv").touch()
    (tmp_path / "folder.csv").mkdir()
    out, plot = (None if name is None else tmp_path / name for name in (out, plot))
    with pytest.raises(OutputError, match=sentence):
        check_outputs([str(tmp_path / "table.csv")], out, plot)


def test_what_can_be_written_is_not_refused(tmp_path):
    (tmp_path / "answer.csv").touch()
    check_outputs(["-", ""], tmp_path / "answer.csv", tmp_path / "plot.PNG")


@pytest.mark.parametrize(("name", "read"), [("a.csv", pd.read_csv), ("a.parquet", pd.read_parquet)])
def test_an_answer_is_written_as_its_file_is_called(tmp_path, name, read):
    write_answer(ANSWER, tmp_path / name)
    pd.testing.assert_frame_equal(read(tmp_path / name), ANSWER)


def test_without_a_file_an_answer_is_printed(capsys):
    write_answer(ANSWER, None)
    assert capsys.readouterr().out == "t,v_mean\n1,0.5\n2,1.5\n"


def test_a_reader_that_has_seen_enough_is_no_mistake(monkeypatch, tmp_path):
    class Closed(io.StringIO):
        def flush(self):
            raise BrokenPipeError(32, "Broken pipe")

        def fileno(self):
            return other.fileno()

    with (tmp_path / "file").open("w") as other:
        monkeypatch.setattr(sys, "stdout", Closed())
        write_answer(ANSWER, None)


def test_a_failed_write_says_that_the_old_file_is_there(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match=r"Expected to write .*folder, but it failed .*unchanged"):
        write_files({tmp_path / "folder": b"new"})
