"""A Ray Dataset in, a Ray Dataset out: the numbers of one process."""

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPError, TableError
from convcnp.predict.zoo import load
from convcnp.scale import predict
from convcnp.scale.dataset import _BUCKET, _Actor, _Shape
from convcnp.scale.form import Form
from lakes import MODEL, asked, check_same, some_series


class Rows:
    """As much of a dataset as columns are chosen from."""

    def __init__(self, frame):
        self.frame = frame

    def limit(self, count):
        return self

    def to_pandas(self):
        return self.frame


def buckets_answered(frame, at=None, count=5):
    form = Form.of(load(MODEL), asked(at), frame, "a")
    shape = _Shape(form, count, 10**6)
    actor = _Actor(shape)
    sorted_ = shape.with_bucket(frame)
    return [actor(rows) for _, rows in sorted_.groupby(_BUCKET)], sorted_


def test_buckets_of_a_dataset_give_the_numbers_of_one_table():
    frame = some_series(30)
    answers, rows = buckets_answered(frame)
    assert (rows.groupby("station")[_BUCKET].nunique() == 1).all()
    assert all(answer.columns[-1] == "error" for answer in answers)
    whole = pd.concat(answers, ignore_index=True)
    assert whole.pop("error").isna().all()
    check_same(whole, frame)


def test_a_series_that_fails_is_a_row_with_a_sentence():
    frame = some_series(10)
    frame.loc[frame["station"] == "s4", ["temp", "rain"]] = np.nan
    answers, _ = buckets_answered(frame, at="3")
    whole = pd.concat(answers, ignore_index=True)
    (failed,) = whole[whole["error"].notna()].to_dict("records")
    assert failed["station"] == "s4" and "the series has none" in failed["error"]
    assert whole["station"].nunique() == 10


def test_a_bucket_without_gaps_has_the_columns_and_no_row():
    frame = some_series(10)
    whole = frame.dropna().groupby("station").head(3)
    answers, _ = buckets_answered(pd.concat([whole, frame[frame["station"] == "s1"]]))
    assert len({tuple(answer.columns) for answer in answers}) == 1
    assert min(map(len, answers)) == 0
    assert len({str(answer["time"].dtype) for answer in answers}) == 1


@pytest.mark.parametrize(
    ("frame", "known", "sentence"),
    [
        (pd.DataFrame(), {}, "Expected a dataset with rows"),
        (some_series(3), {"group": "", "time": "time"}, "tells series apart in the dataset"),
        (some_series(3), {"group": "shop"}, "Expected a column 'shop'"),
        (some_series(3), {"buckets": 0}, "buckets must be a positive number"),
    ],
)
def test_what_cannot_be_asked_is_refused(unchecked, frame, known, sentence):
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'convcnp[ray]'")
    with pytest.raises((TableError, ConvCNPError), match=sentence):
        predict(Rows(frame), model=MODEL, **known)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
@pytest.mark.parametrize("words", [True, False])
def test_a_dataset_of_ray_is_answered_by_another(ray, words):
    pyarrow = pytest.importorskip("pyarrow")
    frame = some_series(100, words=words)
    silent = "s7" if words else 7
    frame.loc[frame["station"] == silent, ["temp", "rain"]] = np.nan
    parts = [frame.iloc[rows] for rows in np.array_split(np.arange(len(frame)), 3)]
    dataset = ray.data.from_pandas(parts)
    answers = predict(dataset, model=MODEL, group="station", workers=1, buckets=4)
    parts = ray.get(answers.to_arrow_refs())
    whole = pyarrow.concat_tables(parts, promote_options="permissive")
    whole = whole.to_pandas(ignore_metadata=True)
    failed = whole["error"].notna()
    assert whole[failed]["station"].tolist() == [silent]
    check_same(whole[~failed].drop(columns="error"), frame)
