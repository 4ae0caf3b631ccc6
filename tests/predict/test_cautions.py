"""Cautions: what is said of data that lies outside what a model was trained for."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from convcnp.data.source import Familiar
from convcnp.frames.series import Ragged
from convcnp.frames.time_axis import TimeAxis
from convcnp.models.base import Restlessness, Rhythm
from convcnp.models.cnp import CNP
from convcnp.predict.batches import Predictions
from convcnp.predict.cautions import (
    POINTS,
    SERIES,
    beyond,
    cautions,
    outliers_said,
    restlessness_said,
    rhythms_said,
    unbridged,
    unused_season,
)

FAMILIAR = Familiar((0.5, 2.0), largest=3.0, spacing=1.0)
SEEN = Ragged(np.zeros(4), np.array([0, 2, 4]))


def found(**changes):
    usual = replace(Predictions.none(CNP(), 2), gaps=(1.0, 1.0), largest=1.0, observed=100)
    usual.distance = np.array([0.5, 1.0])
    return replace(usual, **changes)


def said(predictions, series=SEEN, words=SERIES, name="ours"):
    return list(cautions(predictions, series, FAMILIAR, 5.0, name, words))


def test_usual_data_is_not_warned_of():
    assert said(found(averaged=5)) == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"averaged": 6}, "6 of 100 values are not the first at their time"),
        ({"distance": np.array([5.0, 5.1])}, "1 of 2 asked times are farther from every"),
        ({"gaps": (0.4, 1.0)}, "the typical gap between observations is 0.4 to 1"),
        ({"gaps": (1.0, 2.1)}, "trained on 0.5 to 2; rescale the times, or use 'general'."),
        ({"largest": 3.1}, "values reach 3.1 in the units of 'ours'"),
    ],
)
def test_each_kind_of_unusual_data_gets_one_sentence(changes, sentence):
    (caution,) = said(found(**changes))
    assert sentence in caution


def test_series_without_observations_are_counted():
    (caution,) = said(found(), Ragged(np.zeros(2), np.array([0, 2, 2])))
    assert caution == "1 of 2 series have no observed value; their predictions are left empty."


def test_points_have_words_of_their_own_and_general_is_not_advised_against_itself():
    unusual = found(gaps=(9.0, 9.0), distance=np.array([9.0, 9.0]))
    far, gap = said(unusual, words=POINTS)
    assert "2 of 2 asked points are farther" in far
    assert gap.endswith("rescale the inputs.")
    assert said(unusual, name="general")[1].endswith("rescale the times.")


def test_a_season_longer_than_what_a_model_sees_is_told():
    x = np.arange(120.0)
    axis = TimeAxis.of(pd.Series(x))
    y = np.sin(2 * np.pi * x / 12)[:, None]
    assert "a season of 12, which 'own' does not use: it sees 5" in next(
        unused_season(x, y, 5.0, "own", axis)
    )
    assert not list(unused_season(x, y, 50.0, "own", axis))


def test_times_farther_ahead_than_a_series_is_long_are_counted():
    series = Ragged(np.arange(10.0), np.array([0, 10]))
    axis = TimeAxis.of(pd.Series(series.x))
    assert not list(beyond(series, Ragged(np.array([-8.0, 18.0]), np.array([0, 2])), axis))
    asked = Ragged(np.array([5.0, 30.0, -20.0]), np.array([0, 3]))
    assert "2 of 3 asked times" in next(beyond(series, asked, axis))


def in_gap(y, deviation):
    """Return what is said of 60 observations with 20 missing, predicted with such a deviation."""
    x = np.delete(np.arange(80.0), slice(30, 50))
    asked = np.arange(30.0, 50.0)
    predictions = Predictions.none(CNP(), len(asked))
    predictions.raw[:, 1] = np.log(np.expm1(deviation))
    predictions.is_answered[:] = True
    return list(unbridged(predictions, x, y(x)[:, None], asked, TimeAxis.of(pd.Series(x))))


def wandering(x):
    return np.sin(x / 9)


def test_a_gap_is_too_long_where_the_band_is_as_wide_as_the_series():
    (text,) = in_gap(wandering, 0.9)
    assert "20 of 20 asked times lie in gaps, of up to 21, that are too long to bridge" in text
    assert in_gap(wandering, 0.2) == []


def test_noise_has_nothing_to_bridge():
    assert in_gap(lambda x: np.random.default_rng(0).standard_normal(len(x)), 1.1) == []
    assert in_gap(np.zeros_like, 1.0) == []
    assert in_gap(lambda x: np.full_like(x, 0.02), 1e-3) == []


def test_rhythms_are_said_with_the_share_of_variance_that_they_explain():
    axis = TimeAxis.of(pd.Series([1.0, 2.0]))
    found = [Rhythm(12.0, 0.53), Rhythm(3.5, 0.2), Rhythm(2.0, 0.01)]
    assert rhythms_said("v", found, axis, 100) == (
        "v: a rhythm of 12 explains 53% and a rhythm of 3.5 explains 20% of the variance around "
        "a line."
    )
    assert rhythms_said("v", found[2:], axis, 100) == "v: no rhythm was found."
    few = rhythms_said("v", found[:1], axis, 12)
    assert few.endswith(" around a line, which may be chance: there are 12 values.")


def test_outliers_are_said_with_when_they_came_and_what_they_were():
    days = pd.Series(pd.date_range("2020-01-01", periods=60))
    axis, y = TimeAxis.of(days), np.arange(60.0)
    x = axis.numbers(days)
    assert not list(outliers_said("v", [], x, y, axis))
    (told,) = outliers_said("v", x[[3, 31]].tolist(), x, y, axis)
    assert told == (
        "v: 2 values fit nothing else, and do not widen the 90 % bands: "
        "3 at 2020-01-04, 31 at 2020-02-01."
    )
    (again,) = outliers_said("v", [x[3]], np.r_[x, x[3]], np.r_[y, 900.0], axis)
    assert again.endswith(": 900 at 2020-01-04.")
    (many,) = outliers_said("v", x[:5].tolist(), x, y, axis)
    assert many.endswith("2 at 2020-01-03, and 2 more.")


def test_restlessness_is_said_where_it_is_much():
    axis = TimeAxis.of(pd.Series([1.0, 2.0]))
    assert list(restlessness_said("v", None, axis)) == []
    assert list(restlessness_said("v", Restlessness("values", np.inf, 1.5), axis)) == []
    (said,) = restlessness_said("v", Restlessness("phases", 24.0, 6.7), axis)
    assert said == (
        "v: it varies up to 7 times as much at some times of the rhythm of 24 as at others, "
        "and so do the bands."
    )
    (near,) = restlessness_said("v", Restlessness("values", np.inf, 2.2), axis)
    assert "near some values as near others" in near


@pytest.mark.parametrize("count", [12, 20, 45])
def test_a_rhythm_that_noise_seldom_seems_to_have_is_not_doubted(count):
    """Which share of noise two harmonics of the best frequency explain, by least squares."""
    random, axis = np.random.default_rng(0), TimeAxis.of(pd.Series([1.0, 2.0]))
    x, shares = np.arange(float(count)), []
    frequencies = np.arange(1, count // 2) / count
    angles = 2 * np.pi * np.outer(frequencies, x)
    waves = np.stack([wave(k * angles) for k in (1, 2) for wave in (np.cos, np.sin)], -1)
    bases = [np.linalg.qr(each - each.mean(0))[0] for each in waves]
    for _ in range(1000):
        noise = random.normal(size=count)
        noise -= noise.mean()
        shares.append(max(((noise @ basis) ** 2).sum() for basis in bases) / (noise @ noise))
    doubted = [
        "chance" in rhythms_said("v", [Rhythm(12.0, min(float(share), 1.0))], axis, count)
        for share in shares
    ]
    assert np.mean(doubted) > 0.98
    assert "chance" not in rhythms_said("v", [Rhythm(12.0, 0.97)], axis, count)
