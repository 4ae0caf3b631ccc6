"""Limits that values seem to have, and what is said of them."""

import re
import warnings

import numpy as np
import pandas as pd

import convcnp
from convcnp.core.bounds import ANYWHERE, Limits
from convcnp.predict.seeming_limits import seeming_limits, seems_positive


def test_values_are_near_zero_if_many_are():
    assert seems_positive(np.abs(np.sin(np.arange(50.0))))
    for y in (np.arange(50.0) - 1, np.arange(100.0, 150.0), np.zeros(50), np.arange(3.0)):
        assert not seems_positive(y)


def test_values_that_never_come_close_to_zero_are_not_near_it():
    for y in (np.arange(1.0, 29), 7.5 + 5.7 * np.sin(np.arange(300) / 4)):
        assert np.quantile(y, 0.1) < np.std(y)
        assert not seems_positive(y)
    assert seems_positive(np.random.default_rng(0).exponential(9.0, 100))


def test_a_few_spikes_make_no_others_near_zero():
    y = 20 + np.sin(np.arange(100.0))
    y[[10, 50, 70]] = 900.0
    assert np.std(y) > y.min()
    assert not seems_positive(y)
    assert seems_positive(np.where(np.arange(100) % 20, 0.0, 3.0))  # most are zero


def humid(days=10):
    """Hours of a humidity that is 100 for some hours of every night."""
    t = np.arange(24.0 * days)
    noise = 2 * np.random.default_rng(0).normal(size=len(t))
    humidity = np.minimum(100, np.round(88 + 15 * np.cos(2 * np.pi * t / 24) + noise))
    return pd.DataFrame({"t": t, "humidity": humidity})


def of_limits(frame, at, **known):
    """Return what is warned of limits when the rest of a table is predicted, as users see it."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        convcnp.load("general").predict(frame.drop(index=at), at=frame["t"].to_numpy()[at], **known)
    return [str(each.message) for each in told if "limit" in str(each.message)]


def test_a_pile_of_largest_values_is_told_from_rounding_plateaus_and_few_different_values():
    random, t = np.random.default_rng(0), np.arange(500.0)
    walk = np.cumsum(random.normal(size=500))
    assert seeming_limits(humid()["humidity"].to_numpy()) == Limits(upper=100.0)
    assert seeming_limits(np.clip(walk, *np.quantile(walk, [0.1, 0.8]))) == Limits(
        *np.quantile(walk, [0.1, 0.8])
    )
    temperatures = 10 + 9 * np.sin(2 * np.pi * t / 365) + random.normal(size=500)
    prices = np.repeat(np.arange(20.0), 25)[random.permutation(500) // 25 * 25]
    for usual in (
        temperatures.round(1),
        temperatures.round(),
        (10 * np.sin(t / 20)).round(1),
        (10.4 * np.sin(t / 20) + 0.5 * random.normal(size=500)).round(),
        random.poisson(3.0, 500).astype(float),
        random.poisson(40.0, 500).astype(float),
        random.binomial(4, 0.5, 500).astype(float),
        np.minimum(prices, 19.0),
        np.full(500, 3.0),
        np.array([0.0, 1.0]),
        np.empty(0),
    ):
        assert seeming_limits(usual) == ANYWHERE


def test_bands_beyond_a_pile_name_the_bound_that_is_not_given():
    frame, night = humid(), np.arange(118, 124)
    (said,) = of_limits(frame, night)
    assert re.fullmatch(
        r"humidity: \d+ of 234 values are 100, and none is larger, but bands reach 10\d(\.\d)?; if "
        r"that is a limit, upper=100 keeps the answer within it\.",
        said,
    )
    assert of_limits(frame, night, upper=100) == []
    assert of_limits(frame, np.arange(108, 112)) == []  # at noon no band reaches so far


def test_two_values_have_both_limits_and_zero_is_told_once():
    t = np.arange(100.0)
    frame = pd.DataFrame({"t": t, "on": (np.random.default_rng(0).random(100) < 0.4) * 1.0})
    at = np.arange(50, 55)
    (upper,) = of_limits(frame, at)  # positive=True is suggested already
    assert "upper=1 keeps" in upper
    (lower,) = of_limits(frame, at, upper=1)
    assert "values are 0, and none is smaller, but bands reach -" in lower
    assert "lower=0 keeps" in lower
    assert of_limits(frame.assign(on=frame["on"] - 7.25), at)[0].count("lower=-7.25") == 1
