"""The series of a bucket: predicted together, and named where they cannot be."""

import numpy as np
import pandas as pd

from convcnp.frames.columns import Columns
from convcnp.predict.zoo import load
from convcnp.scale.bucket import answer_bucket, kind_of_warning
from convcnp.scale.form import Asked, Form
from lakes import MODEL, asked, check_same, some_series


def answered(frame, wanted=None, most_rows=10**6):
    predictor = load(MODEL)
    form = Form.of(predictor, wanted or asked(), some_series(6), "a")
    return answer_bucket(predictor, form, frame, most_rows)


def test_series_are_predicted_as_in_one_table():
    frame = some_series(12, seed=3)
    found = answered(frame)
    check_same(found.answer, frame)
    counts = found.counts("station")
    assert counts["series"] == 12 == counts["answered"] + counts["nothing_asked"]
    assert counts["rows"] == len(found.answer)


def test_standard_errors_are_carried():
    frame = some_series(6, seed=3).assign(temp_err=0.5)
    predictor = load("general")
    form = Form.of(predictor, Asked("general", Columns.named(group="station")), frame, "a")
    assert "temp_err" in form.columns.errors
    found = answer_bucket(predictor, form, form.needed(frame, "a"), 10**6)
    assert not found.errors
    assert "temp_err" not in "".join(found.answer.columns)


def test_in_small_parts_the_answers_are_the_same():
    frame = some_series(12, seed=3)
    check_same(answered(frame, most_rows=30).answer, frame)


def test_a_series_that_fails_is_named_and_the_others_are_answered():
    frame = some_series(8)
    bad = frame.astype({"temp": "string"})
    bad.loc[bad["station"] == "s2", "temp"] = "broken"
    bad.loc[bad["station"] == "s5", ["temp", "rain"]] = None
    found = answered(bad, asked(at="3"))
    assert {name for name, _ in found.errors} == {"s2", "s5"}
    told = dict(found.errors)
    assert "got 'broken'" in told["s2"]
    assert "the series has none" in told["s5"]
    good = frame[~frame["station"].isin(["s2", "s5"])]
    check_same(found.answer, good, at=3)
    counts = found.counts("station")
    assert counts["series"] == counts["answered"] + counts["nothing_asked"] + counts["errors"] == 8


def test_a_series_that_cannot_fit_is_named():
    frame = some_series(4)
    largest = frame["station"].value_counts()
    found = answered(frame, asked(at="3"), most_rows=int(largest.max()) - 1)
    names = largest[largest == largest.max()].index
    assert {name for name, _ in found.errors} == set(names)
    assert "raise memory=" in found.errors[0][1]


def test_nothing_is_nothing():
    assert answered(pd.DataFrame()).counts("station")["series"] == 0
    whole = some_series(3).dropna().groupby("station").head(3)
    assert answered(whole).counts("station")["nothing_asked"] == 3


def test_warnings_are_counted_by_kind():
    assert kind_of_warning("temp: 1,200 of 3e5 rows") == kind_of_warning("temp: 2 of 7.5 rows")
    frame = some_series(4)
    frame.loc[0, "time"] = pd.NaT
    found = answered(frame, asked(at="3"))
    assert any("rows have no time" in kind for kind in found.warnings)
    assert np.all(list(found.warnings.values()))
