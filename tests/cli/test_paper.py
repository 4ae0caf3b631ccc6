"""Commands for tables and figures."""

import pytest

from helpers import invoke


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
    assert shown.startswith("Series,Points,Removed,General model,Dictionary alone,")
    assert "hare,91,blocks,—,—,—,—,—,—,—,—,-" in shown


def test_compare_photographs_writes_result_files_that_the_table_shows(tmp_path):
    pytest.importorskip("cv2")
    pytest.importorskip("skimage")
    results = tmp_path / "photographs"
    options = ["--photos", "cat", "--methods", "telea", "--damages", "text", "--out", str(results)]
    done = invoke("compare-photographs", *options)
    assert done.exit_code == 0, done.output
    assert "cat, text, telea: PSNR" in done.stderr
    assert f"Wrote 1 result file to {results}." in " ".join(done.stdout.split())
    shown = invoke("table", "photographs-each", "--results", str(tmp_path), "--format", "csv")
    assert "cat,Text,—,—,—," in shown.output
