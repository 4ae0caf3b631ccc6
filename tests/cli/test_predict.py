"""The command `convcnp predict`, as a user runs it."""

import dataclasses
import errno
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import convcnp
import convcnp.plots.series
import convcnp.predict.zoo
from convcnp.cli import main
from convcnp.models.convcnp import ConvCNP
from convcnp.predict.answers import rounded

SERIES = "date,temp\n2020-01-01,1.5\n2020-01-02,2\n2020-01-03,\n2020-01-04,3\n2020-01-06,2.5\n"
LONG = "id,t,v\na,0,1\na,1,2\na,2,\nb,0,10\nb,1,\nb,3,30\n"


@pytest.fixture
def predict(tmp_path, monkeypatch, capsys):
    """Return a function that runs the command in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "series.csv").write_text(SERIES)
    (tmp_path / "long.csv").write_text(LONG)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["convcnp", "predict", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return stop.value.code, captured.out, " ".join(captured.err.split())

    return run


def answered(predict, *arguments):
    code, out, errors = predict(*arguments)
    assert code == 0, errors
    return pd.read_csv(io.StringIO(out))


def call(*arguments, cwd, **options):
    """Run the real command in a process of its own."""
    command = [sys.executable, "-m", "convcnp.cli", "predict", *map(str, arguments)]
    return subprocess.run(
        command, stderr=subprocess.PIPE, text=True, cwd=cwd, check=False, **options
    )


# --- Good input -----------------------------------------------------------------------------------


def test_the_gaps_are_filled_in_the_users_columns_and_dates(predict):
    code, out, errors = predict("series.csv")
    assert code == 0
    said, seen = errors.split(". ", 1)
    assert (
        said
        == "Predicting 'temp' over 'date' with 'general', at the times whose values are missing"
    )
    assert seen.strip() == "temp: no rhythm was found."
    answer = pd.read_csv(io.StringIO(out))
    assert list(answer) == ["date", "temp_mean", "temp_std", "temp_q05", "temp_q95"]
    assert answer["date"].tolist() == ["2020-01-03", "2020-01-05"]
    assert answer["temp_mean"].between(1, 4).all()


def test_the_command_and_the_library_give_the_same_numbers(predict):
    told = answered(predict, "series.csv", "--at", 7, "--quantiles", "0.1,0.5", "--samples", 2)
    frame = pd.read_csv(io.StringIO(SERIES), parse_dates=["date"])
    found = convcnp.load("general").predict(frame, at=7, quantiles=[0.1, 0.5], samples=2)
    assert list(told) == list(found)
    np.testing.assert_allclose(told.iloc[:, 1:], rounded(found, ["temp"]).iloc[:, 1:], rtol=1e-12)
    np.testing.assert_allclose(told.iloc[:, 1:], found.iloc[:, 1:], rtol=1e-3)


@pytest.mark.parametrize(
    ("at", "times"),
    [
        ("gaps", ["2020-01-03", "2020-01-05"]),
        ("2", ["2020-01-01", "2020-01-06"]),
        ("2020-01-02:2020-01-04:2D", ["2020-01-02", "2020-01-04"]),
        ("2020-01-01:2020-03-05:1 month", ["2020-01-01", "2020-02-01", "2020-03-01"]),
        ("2020-01-02 00:00..2020-01-02 12:00..12h", ["2020-01-02 00:00:00", "2020-01-02 12:00:00"]),
        ("asked.csv", ["2020-02-01", "2020-01-01"]),
    ],
)
def test_where_to_predict_is_told_in_many_ways(predict, tmp_path, at, times):
    (tmp_path / "asked.csv").write_text("date,other\n2020-02-01,1\n2020-01-01,2\n")
    assert answered(predict, "series.csv", "--at", at)["date"].tolist() == times


@pytest.mark.parametrize("ahead", ["2", "2d", "48 hours"])
def test_times_ahead_follow_the_last_value(predict, ahead):
    assert answered(predict, "series.csv", "--ahead", ahead)["date"].tolist() == [
        "2020-01-07",
        "2020-01-08",
    ]
    assert len(answered(predict, "long.csv", "--ahead", "3")) == 6


def test_numbers_are_asked_for_in_steps(predict):
    answer = answered(predict, "long.csv", "--at", "0:0.3:0.1", "--group", "id")
    assert answer["id"].tolist() == ["a"] * 4 + ["b"] * 4
    np.testing.assert_allclose(answer["t"], [0, 0.1, 0.2, 0.3] * 2)


@pytest.mark.parametrize("group", [["--group", "a+b"], ["--group", "a", "--group", "b"]])
def test_several_columns_may_tell_series_apart(predict, tmp_path, group):
    rows = [f"{a},{b},{t},{t % 3 or ''}\n" for a in "xy" for b in (1, 2) for t in range(6)]
    (tmp_path / "two.csv").write_text("a,b,t,v\n" + "".join(rows))
    code, out, errors = predict("two.csv", *group)
    assert "Predicting 'v' over 't' of 4 series by 'a+b' with" in errors
    answer = pd.read_csv(io.StringIO(out))
    assert (code, list(answer)[:4]) == (0, ["a", "b", "t", "v_mean"])
    assert answer["b"].tolist() == [1, 1, 2, 2] * 2
    assert answer["v_mean"].notna().all()


def test_columns_may_be_named_and_hold_brackets(predict, tmp_path):
    (tmp_path / "units.csv").write_text("h [s],k,speed [/s]\n0,1,2\n1,2,3\n2,3,\n3,4,5\n")
    code, out, errors = predict("units.csv", "--time", "k", "--value", "speed [/s]", "--group", "")
    assert code == 0
    assert errors.startswith("Predicting 'speed [/s]' over 'k' with")
    assert out.startswith("k,speed [/s]_mean,")


def test_the_picture_shows_the_first_series_that_have_values(predict, tmp_path):
    pytest.importorskip("matplotlib")
    table = "id,t,v,w\n" + "z,0,,\nz,1,,\n" + "a,0,1,\na,1,2,\na,2,3,\n" + "b,0,1,1\nb,1,,2\n"
    (tmp_path / "sparse.csv").write_text(table)
    code, out, errors = predict("sparse.csv", "--samples", 1, "--plot", "p.png")
    assert code == 0
    assert "1 of 3 series have no observed value" in errors
    assert errors.endswith("Wrote p.png.")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert out.startswith("id,t,v_mean")


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_the_answer_is_written_as_the_file_is_called(predict, tmp_path, name):
    code, out, errors = predict("long.csv", "--out", name)
    assert (code, out) == (0, "")
    assert errors.endswith(f"Wrote {name}.")
    read = pd.read_csv if name.endswith("csv") else pd.read_parquet
    answer = read(tmp_path / name)
    assert answer[["id", "t"]].values.tolist() == [["a", 2], ["b", 1]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["long.csv", name, "series.csv"]


def test_many_groups_of_one_row_are_predicted(predict, tmp_path):
    count = 3000
    ids = np.arange(count)
    frame = pd.DataFrame({"series": ids, "time": ids % 7, "value": np.sin(ids)})
    frame.to_parquet(tmp_path / "groups.parquet")
    code, _, errors = predict("groups.parquet", "--group", "series", "--out", "out.parquet")
    assert code == 0
    assert "3,000 series by 'series'" in errors
    answer = pd.read_parquet(tmp_path / "out.parquet")
    assert answer["series"].tolist() == ids.tolist()
    assert answer["value_std"].notna().all()


# --- Messy input ----------------------------------------------------------------------------------


def test_a_word_beside_each_value_is_ignored_and_said(predict, tmp_path):
    rows = [f"2012-01-{day:02},{day % 7},{('rain', 'sun')[day % 3 > 0]}" for day in range(1, 25)]
    (tmp_path / "weather.csv").write_text("\n".join(["date,temp,weather", *rows]))
    code, _, errors = predict("weather.csv", "--out", "out.csv")
    assert code == 0
    assert "'weather' holds words that do not tell series apart" in errors
    assert "24 evenly spaced times, as there is no gap" in errors


def test_years_months_days_and_sentinels_are_understood(predict, tmp_path):
    rows = [f"2012,1,{day},{-999 if day in (5, 9) else day % 7}" for day in range(1, 25)]
    (tmp_path / "parts.csv").write_text("\n".join(["Year,Month,Day,temp", *rows]))
    code, out, errors = predict("parts.csv")
    assert code == 0
    assert "'temp': -999, far from the other values and in 2 of 24 rows" in errors
    answer = pd.read_csv(io.StringIO(out))
    assert answer["Year+Month+Day"].tolist() == ["2012-01-05", "2012-01-09"]
    code, _, errors = predict("parts.csv", "--missing", "none", "--out", "out.csv")
    assert "as there is no gap" in errors
    assert len(answered(predict, "parts.csv", "--missing", "4")) == 3


# --- Bad input ------------------------------------------------------------------------------------

FILES = {
    "empty.csv": "",
    "header.csv": "t,v\n",
    "words.csv": "t,v\n0,a\n1,b\n",
    "dates.csv": "date,v\n2020-01-01,1\n2020-01-32,2\n2020-01-03,3\n",
    "infinite.csv": "t,v\n0,1\n1,inf\n",
    "missing.csv": "t,v\n0,\n1,\n",
    "picture.csv": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
    "random.csv": np.random.default_rng(1).bytes(3000),
    "cut.parquet": b"PAR1",
}

MISTAKES = [
    (["empty.csv"], "Expected a table in empty.csv, but it is empty"),
    (["header.csv"], "Expected rows below the header of header.csv"),
    (["words.csv"], "Expected a column of numbers beside the time 't'"),
    (["dates.csv"], "got '2020-01-32' in row 2 of 3"),
    (["infinite.csv"], "Expected a finite number in every cell of 'v', got inf in row 2 of 2"),
    (["missing.csv"], "Expected observed values in 'v'"),
    (["picture.csv"], "picture.csv is none; export it"),
    (["random.csv"], "random.csv is none; export it"),
    (["cut.parquet"], "Expected a Parquet file in cut.parquet"),
    (["serie.csv"], "no such file; did you mean 'series.csv'?"),
    (["series.csv", "--value", "tmp"], "Expected a column 'tmp'"),
    (["series.csv", "--time", "dat"], "did you mean 'date'?"),
    (["series.csv", "--model", "genral"], "did you mean 'general'?"),
    (["series.csv", "--quantiles", "0.5,1"], "strictly between 0 and 1, got 1.0"),
    (["series.csv", "--quantiles", "nan"], "strictly between 0 and 1, got nan"),
    (["series.csv", "--quantiles", "5%"], "--quantiles must be numbers between commas"),
    (["series.csv", "--at", "asked.csv"], "or a file that exists, got 'asked.csv'"),
    (["series.csv", "--at", "2020-01-01:2020-01-03:60"], "steps of dates have a unit"),
    (["series.csv", "--at", "2020-01-03:2020-01-01:1D"], "--at must stop after its start"),
    (["series.csv", "--ahead", "soon"], "--ahead must be positive, a number of steps or a time"),
    (["series.csv", "--ahead", "-5"], "--ahead must be positive, a number of steps or a time"),
    (["series.csv", "--time", "Day"], "the table has 'date', 'temp'; did you mean 'date'?"),
    (["series.csv", "--out", "none/out.csv"], "the folder none does not exist"),
    (["none/series.csv"], "Expected a table in none/series.csv, but the folder none does not"),
    (["series.csv", "--draw", "nope", "--plot", "p.png"], "--draw chooses among several series"),
    (["series.csv", "--ahead", "2", "--at", "gaps"], "Expected --at or --ahead, got both"),
    (["long.csv", "--at", "0:inf:1"], "--at must start and stop at times"),
    (["long.csv", "--at", "0:1:1e-15"], "--at must be at most 20,000,000"),
    (["long.csv", "--at", "a" * 300], "--at must be gaps"),
    (["long.csv", "--at", "9" * 12], "at most 20,000,000"),
    (["long.csv", "--at", "series.csv"], "Expected a column 't' in the table of asked times"),
    (["series.csv", "--out", "out.txt"], "--out must end in .csv or .parquet"),
    (["series.csv", "--out", "x" * 300 + ".csv"], "File name too long"),
    (["series.csv", "--out", "series.csv"], "another file to write than the tables that are read"),
    (
        ["series.csv", "--at", "long.csv", "--out", "long.csv"],
        "another file to write than the tables that are read",
    ),
    (["series.csv", "--out", "/proc/out.csv"], "Expected to write /proc/out.csv"),
    (["series.csv", "--plot", "out.jpg"], "--plot must end in .png"),
    (["series.csv", "--samples", "1000000000"], "at most 100,000,000 cells, got 2 rows of"),
    (["long.csv", "--at", "9000000", "--quantiles", "0.1,0.2,0.3,0.4"], "at most 100,000,000 cell"),
]


@pytest.mark.parametrize(("arguments", "sentence"), MISTAKES, ids=lambda v: str(v)[:40])
def test_a_mistake_gets_a_sentence_and_exit_code_2(predict, tmp_path, arguments, sentence):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    code, out, errors = predict(*arguments)
    assert code == 2
    assert "Error: " in errors
    assert sentence in errors
    assert errors.endswith((".", "?"))
    assert out == ""
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["long.csv", "--draw", "c", "--plot", "p.png"], "series of the table to draw, got 'c'"),
        (["long.csv", "--lower", "5"], "Expected values from 5 to inf, got 1 and 1 more outside"),
        (["two.csv", "--lower", "5"], "Expected values from 5 to inf, got 1 and 2 more outside"),
    ],
)
def test_what_cannot_be_answered_is_refused_before_anything_is_said(
    predict, tmp_path, arguments, sentence
):
    (tmp_path / "two.csv").write_text("t,a,b\n0,9,1\n1,8,2\n2,,\n3,9,3\n")
    code, out, errors = predict(*arguments)
    assert (code, out) == (2, "")
    assert sentence in errors
    assert "Predicting" not in errors


def test_what_is_named_for_missing_values_and_not_there_is_said(predict):
    code, _, errors = predict("series.csv", "--missing", "foo")
    assert code == 0
    assert "Warning: No cell of 'temp' holds 'foo', which --missing names; check it." in errors
    for found in ("none", "NA", "2.5"):
        assert "No cell" not in predict("series.csv", "--missing", found)[2]


def test_a_constant_is_answered_with_itself(predict, tmp_path):
    rows = [f"2020-01-{day:02},{'' if day == 6 else 5}\n" for day in range(1, 29)]
    (tmp_path / "same.csv").write_text("date,y\n" + "".join(rows))
    code, out, errors = predict("same.csv")
    answer = pd.read_csv(io.StringIO(out))
    assert (code, len(answer)) == (0, 1)
    assert answer[["y_mean", "y_q05", "y_q95"]].to_numpy().tolist() == [[5.0] * 3]
    assert "varies" not in errors


def test_a_folder_without_tables_gets_a_sentence(predict, tmp_path):
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers/notes.md").write_text("nothing to predict")
    code, out, errors = predict("papers", "--out", "answers")
    assert (code, out) == (2, "")
    assert "Expected Parquet or CSV files in papers, but there are none; check the folder" in errors
    assert not (tmp_path / "answers").exists()
    code, _, errors = predict("papers")
    assert code == 2
    assert "Expected a folder for the answers of many files, as papers is a folder" in errors


def test_more_than_six_panels_are_on_pages(predict, tmp_path):
    rows = [f"s{i},{day},{day + i}" for i in range(8) for day in (1, 2, 3, 4, 6)]
    (tmp_path / "many.csv").write_text("\n".join(["id,day,v", *rows]))
    code, _, errors = predict("many.csv", "--out", "out.csv", "--plot", "p.png")
    assert code == 0
    assert "Wrote p.png." in errors and "Wrote p-2.png." in errors
    assert (tmp_path / "p-2.png").read_bytes().startswith(b"\x89PNG")


def test_a_model_for_other_channels_is_refused(predict, monkeypatch):
    pairs = dataclasses.replace(convcnp.load("eq-convcnp"), model=ConvCNP.small(1, 2))
    monkeypatch.setattr(convcnp.predict.zoo, "load", lambda name: pairs)
    code, out, errors = predict("series.csv")
    assert (code, out) == (2, "")
    assert "was trained for 2 value columns together, got 1 (temp)" in errors


@pytest.mark.parametrize("plot", [False, True])
def test_on_a_full_disk_the_earlier_files_stay(predict, tmp_path, monkeypatch, plot):
    names = ["out.csv", "out.png"] if plot else ["out.csv"]
    for name in names:
        (tmp_path / name).write_text("earlier")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    code, _, errors = predict("series.csv", "--out", "out.csv", *["--plot", "out.png"] * plot)
    assert code == 2
    written = " and ".join(names)
    assert f"Expected to write {written}, but it failed (No space left on device)" in errors
    assert [(tmp_path / name).read_text() for name in names] == ["earlier"] * len(names)
    assert len(list(tmp_path.iterdir())) == 2 + len(names)


def test_a_picture_that_cannot_be_drawn_leaves_no_answer(predict, tmp_path, monkeypatch):
    def broken(*_):
        raise convcnp.errors.TableError("No picture today.")

    monkeypatch.setattr(convcnp.plots.series, "draw_series", broken)
    code, _, errors = predict("series.csv", "--out", "out.csv", "--plot", "out.png")
    assert code == 2
    assert errors.endswith("No picture today.")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    "table",
    [
        "t,$x^$\n0,1\n1,2\n2,\n",
        "id,t,v\n$x^$,0,1\n$x^$,1,\n$x^$,2,3\nb,1,1\n",
        "t,v\r0,1\r1,2\r2,\r",
    ],
)
def test_plain_tables_that_are_odd_are_predicted_and_drawn(predict, tmp_path, table):
    (tmp_path / "odd.csv").write_bytes(table.encode())
    code, out, errors = predict("odd.csv", "--plot", "out.png")
    assert code == 0, errors
    assert len(out.splitlines()) == 2
    assert (tmp_path / "out.png").exists()


@pytest.mark.parametrize(
    "table, arguments, sentence",
    [
        (f"t,{'v' * 140_000}\n0,1\n", [], "a header of short names"),
        ("v_mean,v\n0,1\n1,\n", ["--time", "v_mean"], "'v_mean' is what it says of 'v'"),
        (f"t,v\n{2**63},1\n{2**63 + 9},2\n", [], "Expected times below 2^62 in 't'"),
        (f"t,v\n{-(2**63)},1\n{2**63 - 1},2\n", [], "Expected times below 2^62 in 't'"),
        (f"t,v\n{2**60},1\n{2**60 + 9},2\n", ["--at", "1e28:1e29:1e28"], "nearer ones"),
        ("t,v\n0,1\n1,%s\n2,3\n3,4\n" % ("x" * 10**6), [], "xxx ... xxx"),
    ],
)
def test_tables_that_cannot_be_answered_get_a_short_sentence(
    predict, tmp_path, table, arguments, sentence
):
    (tmp_path / "odd.csv").write_text(table)
    code, _, errors = predict("odd.csv", *arguments)
    assert code == 2
    assert sentence in errors
    assert len(errors) < 5000


def test_times_beyond_64_bits_are_answered_as_they_were_asked(predict, tmp_path):
    (tmp_path / "whole.csv").write_text("t,v\n0,1\n1,2\n2,3\n")
    answer = answered(predict, "whole.csv", "--at", "1e29:2e29:1e29")
    assert answer["t"].tolist() == [1e29, 2e29]


def test_years_that_no_axis_shows_are_predicted_but_not_drawn(predict, tmp_path):
    dates = np.array(["9980-01-01", "9999-12-01"], dtype="datetime64[s]")
    pd.DataFrame({"date": dates, "v": [1.0, 2.0]}).to_parquet(tmp_path / "far.parquet")
    assert len(answered(predict, "far.parquet", "--at", "5")) == 5
    code, _, errors = predict("far.parquet", "--at", "5", "--plot", "out.png")
    assert code == 2
    assert "Expected dates of the years 1 to 9999 to draw, got 9980 to 9999" in errors


def test_all_files_are_written_or_none(predict, tmp_path):
    (tmp_path / "out.png").write_text("earlier")
    (tmp_path / "out.png").chmod(0o444)
    code, _, errors = predict("series.csv", "--out", "out.csv", "--plot", "out.png")
    assert code == 2
    assert "out.png cannot be (it is read-only)" in errors
    assert not (tmp_path / "out.csv").exists()


def test_a_private_file_stays_private_and_a_link_a_link(predict, tmp_path):
    (tmp_path / "private.csv").touch()
    (tmp_path / "private.csv").chmod(0o600)
    (tmp_path / "link.csv").symlink_to(tmp_path / "private.csv")
    code, _, errors = predict("series.csv", "--out", "link.csv")
    assert code == 0, errors
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "private.csv").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "private.csv").read_text().startswith("date,temp_mean")


def test_many_columns_are_not_all_listed(predict, tmp_path):
    names = [f"v{i}" for i in range(30)]
    row = ",".join(["1"] * 30)
    (tmp_path / "wide.csv").write_text(f"t,{','.join(names)}\n0,{row}\n1,{row}\n")
    code, _, errors = predict("wide.csv", "--at", "1")
    assert code == 0
    assert "and 22 more over 't'" in errors


# --- The real process -----------------------------------------------------------------------------


def test_a_table_from_standard_input_is_answered_on_standard_output(tmp_path):
    done = call("-", "--at", "1", cwd=tmp_path, input=LONG, stdout=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "id,t,v_mean,v_std,v_q05,v_q95"
    assert len(done.stdout.splitlines()) == 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_output_shows_no_traceback(tmp_path):
    (tmp_path / "series.csv").write_text(SERIES)
    with Path("/dev/full").open("w") as full:
        done = call("series.csv", cwd=tmp_path, stdout=full)
    assert done.returncode == 2
    assert "Error: Expected to write to standard output" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_directory_of_ones_own_run_is_a_model(predict, tmp_path):
    weights = convcnp.predict.zoo.WEIGHTS
    (tmp_path / "run").mkdir()
    (tmp_path / "run/best.safetensors").write_bytes((weights / "eq-cnp.safetensors").read_bytes())
    (tmp_path / "run/result.json").write_text((weights / "eq-cnp.json").read_text())
    assert json.loads((tmp_path / "run/result.json").read_text())["name"]
    code, _, errors = predict("long.csv", "--model", "run")
    assert code == 0
    assert "with 'run'" in errors
