"""Steps in time, and times that follow a series."""

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import TableError
from convcnp.frames import steps
from convcnp.frames.columns import Columns
from convcnp.frames.series import SeriesTable
from convcnp.frames.steps import Step, times_ahead
from convcnp.frames.targets import TargetText, series_targets

DAY = 86400.0


def table(times, values=None, **columns):
    values = np.arange(float(len(times))) if values is None else values
    frame = pd.DataFrame({"t": times, "v": values, **columns})
    return SeriesTable.of(frame, Columns(("v",), time="t", group="id" if columns else None))


def ahead(series, text):
    found = times_ahead(series, text)
    times = [series.axis.times(found.x[found.rows(i)]) for i in range(len(found))]
    if series.axis.dtype.kind == "M":
        return [part.strftime("%Y-%m-%d").tolist() for part in times]
    return [part.tolist() for part in times]


DATES = table(pd.date_range("2020-01-01", periods=4))


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("6h", Step(DAY / 4)),
        ("1D", Step(DAY)),
        ("14 days", Step(14 * DAY)),
        ("2 weeks", Step(14 * DAY)),
        ("3 months", Step(months=3)),
        ("month", Step(months=1)),
        ("1M", Step(months=1)),
        ("2Q", Step(months=6)),
        ("1y", Step(months=12)),
        ("5m", Step(300.0)),
    ],
)
def test_steps_of_dates_have_a_unit(text, step):
    assert Step.read(text, DATES.axis) == step


@pytest.mark.parametrize("text", ["14", "-1d", "1.5 months", "0d", "soon", "", "inf d"])
def test_what_is_no_step_is_refused(text):
    with pytest.raises(ValueError):
        Step.read(text, DATES.axis)


def test_numbers_have_steps_without_a_unit():
    numbers = table([0.0, 0.5, 1.0])
    assert Step.read("0.25", numbers.axis) == Step(0.25)
    with pytest.raises(ValueError):
        Step.read("1d", numbers.axis)
    with pytest.raises(ValueError):
        Step.read("1 month", table(pd.to_timedelta(["1h", "2h"])).axis)


def test_months_and_quarters_are_steps_of_a_range():
    at = TargetText("2020-01-31:2020-05-01:1 month")
    times = DATES.axis.times(series_targets(DATES, at).inputs.x)
    expected = ["2020-01-31", "2020-02-29", "2020-03-31", "2020-04-30"]
    assert times.strftime("%Y-%m-%d").tolist() == expected
    quarters = series_targets(DATES, "2020-01-01..2021-01-01..1Q")
    assert len(quarters.inputs.x) == 5


def test_a_text_in_python_is_a_range_or_a_time():
    assert len(series_targets(DATES, "2020-01-01:2020-01-03:12h").inputs.x) == 5
    assert series_targets(DATES, "2020-01-02 10:30:00").inputs.x.tolist() == [DAY + 37800]
    assert series_targets(DATES, "2020-01-02").inputs.x.tolist() == [DAY]
    with pytest.raises(TableError, match=r"steps of dates have a unit.*got '2020-01-01\.\.soon'"):
        series_targets(DATES, "2020-01-01..soon")


def test_every_series_goes_on_in_its_own_steps_from_its_last_value():
    series = table([0, 1, 2, 3, 0, 10, 20], [1.0, 2, 3, np.nan, 4, 5, 6], id=list("aaaabbb"))
    assert ahead(series, "2") == [[3, 4], [30, 40]]
    targets = series_targets(series, "+2")
    assert targets.meaning == "2 ahead of the last value"
    assert targets.inputs.starts.tolist() == [0, 2, 4]


def test_how_far_ahead_has_a_unit():
    assert ahead(DATES, "3d") == [["2020-01-05", "2020-01-06", "2020-01-07"]]
    assert len(ahead(DATES, "3 months")[0]) == 91
    assert ahead(table(pd.date_range("2020-01-01", periods=4, freq="7D")), "1d") == [["2020-01-23"]]


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        (["2020-01-31", "2020-02-29"], ["2020-03-31", "2020-04-30"]),
        (["2020-01-15", "2020-02-15"], ["2020-03-15", "2020-04-15"]),
        (["2020-01-01", "2020-04-01"], ["2020-07-01", "2020-10-01"]),
        (["2018-07-04", "2019-07-04"], ["2020-07-04", "2021-07-04"]),
    ],
)
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_months_ahead_follow_the_calendar(dates, expected, zone):
    assert ahead(table(pd.to_datetime(dates).tz_localize(zone)), "2") == [expected]


def test_days_ahead_keep_the_clock_of_their_zone():
    days = pd.date_range("2021-03-24 08:00", periods=4, tz="Europe/Berlin")
    series = table(days)
    times = series.axis.times(times_ahead(series, "3").x)
    assert times.hour.tolist() == [8, 8, 8]


def test_a_single_time_shows_no_step():
    with pytest.raises(TableError, match="two times of a series at least"):
        times_ahead(table([1.0]), "3")


def test_many_series_look_at_the_calendar_once(monkeypatch):
    times = pd.date_range("2020-01-31", periods=4, freq="ME")
    seen, real = [], steps.day_of_month
    monkeypatch.setattr(steps, "day_of_month", lambda table: seen.append(1) or real(table))
    series = table(np.tile(times, 50), id=np.repeat(np.arange(50), 4))
    assert ahead(series, "2") == [["2020-05-31", "2020-06-30"]] * 50
    assert len(seen) == 1


def test_steps_of_decimals_are_written_as_decimals():
    series = table([802.0, 802.335, 802.67, 803.005])
    assert times_ahead(series, "3").x.tolist() == [803.34, 803.675, 804.01]
    (asked,) = (series_targets(series, TargetText("0:0.4:0.1")).inputs.x,)
    assert asked.tolist() == [0, 0.1, 0.2, 0.3, 0.4]
