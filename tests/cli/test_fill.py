"""The command `convcnp fill`."""

import pandas as pd
import pytest

from helpers import invoke

ROWS = [f"2020-01-{day:02},{'' if day == 6 else day % 5},x" for day in range(1, 25) if day != 12]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["date,level,site", *ROWS]) + "\n")
    return path


def test_a_table_comes_back_without_its_gaps(table, tmp_path):
    out = tmp_path / "full.csv"
    done = invoke("fill", table, "--group", "", "--out", out)
    assert done.exit_code == 0, done.output
    assert "Filled 2 values of 'level' over 'date' with 'general', 1 of them in" in done.stderr
    full = pd.read_csv(out, keep_default_na=False)
    assert list(full) == ["date", "level", "site", "filled"]
    assert full["date"].tolist() == [f"2020-01-{day:02}" for day in range(1, 25)]
    assert full["filled"].to_numpy().nonzero()[0].tolist() == [5, 11]


def test_long_gaps_are_left_and_mistakes_are_said(table):
    done = invoke("fill", table, "--group", "", "--max-gap", "12h")
    assert "Filled 0 values" in done.stderr
    assert "2 stay empty" in done.stderr
    said = invoke("fill", table, "--group", "", "--missing", "foo").stderr
    assert "No cell of 'level' holds 'foo', which --missing names; check it." in said
    outside = invoke("fill", table, "--group", "", "--lower", "3")
    assert "Expected values from 3 to inf" in str(outside.exception)
    wrong = invoke("fill", table, "--group", "", "--max-gap", "soon")
    assert "The longest gap must be a positive number" in str(wrong.exception)


def test_points_in_the_plane_are_filled_by_their_inputs(tmp_path):
    rows = [f"{i % 5},{i // 5},{'' if i == 12 else i % 5 + 2 * (i // 5)}" for i in range(25)]
    table, out = tmp_path / "points.csv", tmp_path / "full.csv"
    table.write_text("\n".join(["x,y,height", *rows]) + "\n")
    done = invoke("fill", table, "--inputs", "x", "--inputs", "y", "--out", out)
    assert done.exit_code == 0, done.output
    assert "Filled 1 value of 'height' over 'x' and 'y'" in done.stderr
    full = pd.read_csv(out)
    assert full["height"][12] == pytest.approx(6, abs=0.2)
    assert full["filled"].notna().to_numpy().nonzero()[0].tolist() == [12]


def test_a_folder_is_no_table(tmp_path):
    done = invoke("fill", tmp_path)
    assert "but it is a folder; give a file of it" in str(done.exception)
