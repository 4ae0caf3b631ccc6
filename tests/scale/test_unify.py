"""One type of time in all files."""

import pandas as pd

from convcnp.scale.unify import unify_types


def test_whole_times_become_floating_point_where_a_bucket_has_others(tmp_path):
    paths = [tmp_path / name for name in ("a", "b", "c")]
    pd.DataFrame({"t": [1, 2], "v": [1.0, 2.0]}).to_parquet(paths[0])
    pd.DataFrame({"t": [1.5], "v": [3.0]}).to_parquet(paths[1])
    unify_types(paths)
    assert [str(pd.read_parquet(path)["t"].dtype) for path in paths[:2]] == ["float64"] * 2
    assert pd.read_parquet(paths[0])["t"].tolist() == [1.0, 2.0]


def test_files_of_one_type_are_left_alone(tmp_path):
    paths = [tmp_path / name for name in ("a", "b")]
    for path in paths:
        pd.DataFrame({"t": [1]}).to_parquet(path)
    before = [path.stat().st_mtime_ns for path in paths]
    unify_types(paths)
    assert [path.stat().st_mtime_ns for path in paths] == before
