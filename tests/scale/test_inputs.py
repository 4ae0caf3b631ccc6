"""Files of a lake: found, read piece by piece, and checked to fit together."""

import pandas as pd
import pytest

from convcnp.errors import TableError
from convcnp.scale.inputs import Inputs, check_form, find_files, kind_of


def test_files_are_found_by_folder_pattern_and_name(tmp_path):
    for name in ("b.parquet", "a.csv", "notes.txt", "_hidden.csv"):
        (tmp_path / name).write_text("t,v\n1,2\n")
    assert [file.rpartition("/")[2] for file in find_files(str(tmp_path))] == ["a.csv", "b.parquet"]
    assert find_files(f"{tmp_path}/*.csv")[1].endswith("a.csv")
    assert find_files(f"{tmp_path}/a.csv") == [f"{tmp_path}/a.csv"]
    with pytest.raises(TableError, match="there are none; check the folder"):
        find_files(f"{tmp_path}/*.feather")


def test_row_groups_are_pieces_and_a_broken_file_is_named(tmp_path):
    frame = pd.DataFrame({"v": range(5)})
    frame.to_parquet(tmp_path / "a.parquet", index=False, row_group_size=2)
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:50])
    inputs = Inputs.find(str(tmp_path))
    assert [piece.first_row for piece in inputs.pieces] == [0, 2, 4]
    assert inputs.rows == 5
    read = pd.concat([piece.read() for piece in inputs.pieces])
    assert read["v"].tolist() == read.index.tolist() == [0, 1, 2, 3, 4]
    assert list(inputs.broken) == [str(tmp_path / "b.parquet")]
    assert "b.parquet, but it cannot be read" in inputs.broken[str(tmp_path / "b.parquet")]
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(TableError, match="that can be read"):
        Inputs.find(str(tmp_path))


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (pd.DataFrame({"id": [1]}), "b has no column 'v'"),
        (pd.DataFrame({"id": ["x"], "v": [1.0]}), "'id' holds numbers or words in b, and whole"),
        (pd.DataFrame({"id": [1], "v": pd.to_datetime(["2024"])}), "'v' holds dates in b"),
    ],
)
def test_tables_of_another_form_are_refused(frame, sentence):
    first = pd.DataFrame({"id": [1], "v": [2.0]})
    kinds = {name: kind_of(first[name], name == "id") for name in first}
    check_form(first, "a", kinds, "id", "a")
    with pytest.raises(TableError, match=sentence):
        check_form(frame, "b", kinds, "id", "a")
