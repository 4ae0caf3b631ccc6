"""Rows sorted into buckets, and read bucket by bucket."""

import numpy as np
import pandas as pd

from convcnp.predict.zoo import load
from convcnp.scale.form import Form
from convcnp.scale.inputs import Inputs
from convcnp.scale.parts import bucket_of, read_bucket, write_parts
from lakes import MODEL, asked, some_series, write_lake


def test_a_name_has_one_bucket_whatever_holds_it():
    names = pd.Series(["a", "b", "a", "c"])
    for kind in (object, "string", "category"):
        assert (bucket_of(names.astype(kind), 7) == bucket_of(names, 7)).all()
    assert len(set(bucket_of(pd.Series(range(1000)), 8))) == 8


def test_every_row_is_in_one_bucket_with_its_series_and_in_order(tmp_path):
    frame = some_series(20)
    frame.loc[3, "station"] = None
    lake = write_lake(tmp_path / "lake", frame)
    form = Form.of(load(MODEL), asked(), some_series(20), "a")
    pieces = Inputs.find(str(lake)).pieces
    paths = [tmp_path / f"{i}.arrow" for i in range(len(pieces))]
    without = [
        write_parts(form, piece, piece.read(), 5, path)
        for piece, path in zip(pieces, paths, strict=True)
    ]
    assert sum(without) == 1
    buckets = [read_bucket(paths, i) for i in range(5)]
    owners = [set(bucket["station"]) for bucket in buckets if len(bucket)]
    assert sum(map(len, owners)) == len(set.union(*owners)) == frame["station"].nunique()
    for bucket in buckets:
        for name, rows in bucket.groupby("station"):
            expected = frame[frame["station"] == name]
            assert np.array_equal(rows["temp"], expected["temp"], equal_nan=True)
            assert rows["time"].tolist() == expected["time"].tolist()
