"""Small versions of tables that people have, read right at the first try."""

import io
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import convcnp
from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.columns import choose_columns
from convcnp.frames.reading import parse_table
from convcnp.frames.series import SeriesTable
from convcnp.frames.targets import series_targets

ROWS = 48
RANDOM = np.random.default_rng(0)
DAYS = pd.date_range("2012-01-01", periods=ROWS)
HOURS = pd.date_range("2004-03-10 18:00", periods=ROWS, freq="h")
SPRING = pd.date_range("2021-03-27 12:00", periods=ROWS, freq="h", tz="Europe/Berlin")
MONTHS = pd.date_range("2015-01-01", periods=ROWS, freq="MS")
VALUES = RANDOM.normal(10, 1, ROWS).round(2)
PLACES = {"lat": -20 + VALUES, "long": 180 + VALUES[::-1], "mag": VALUES / 2}


def words(*kinds):
    return RANDOM.choice(kinds, ROWS)


def with_holes(value, every=9):
    return np.where(np.arange(ROWS) % every == 4, value, VALUES)


# Each table, its time, group and values, how many times are missing, and what is said.
TABLES = {
    "weather with a word column": (
        {"date": DAYS.strftime("%Y/%m/%d"), "temp": VALUES, "weather": words("rain", "sun", "fog")},
        ("date", None, ("temp",)),
        0,
        "'weather' holds words that do not tell series apart",
    ),
    "a flag of quality": (
        {"day": DAYS, "v": VALUES, "flag": words("good", "poor")},
        ("day", None, ("v",)),
        0,
        "'flag' holds words",
    ),
    "stations below each other": (
        {"st": np.repeat(["a", "b"], 24), "day": [*DAYS[:24]] * 2, "v": VALUES},
        ("day", "st", ("v",)),
        0,
        None,
    ),
    "row names of R": (
        {"rownames": np.arange(1, ROWS + 1), "time": 1949 + np.arange(ROWS) / 12, "value": VALUES},
        ("time", None, ("value",)),
        0,
        None,
    ),
    "month and day of R": (
        {
            "rownames": range(1, 49),
            "Ozone": with_holes(np.nan),
            "Month": DAYS.month,
            "Day": DAYS.day,
        },
        ("Month+Day", None, ("Ozone",)),
        5,
        "no year",
    ),
    "year, month, day": (
        {"Year": DAYS.year, "Month": DAYS.month, "Day": DAYS.day, "v": VALUES},
        ("Year+Month+Day", None, ("v",)),
        0,
        None,
    ),
    "date and clock": (
        {"Date": HOURS.strftime("%Y-%m-%d"), "Time": HOURS.strftime("%H:%M"), "CO": VALUES},
        ("Date+Time", None, ("CO",)),
        0,
        None,
    ),
    "date and clock with dots": (
        {"Date": HOURS.strftime("%Y-%m-%d"), "Time": HOURS.strftime("%H.%M.%S"), "CO": VALUES},
        ("Date+Time", None, ("CO",)),
        0,
        None,
    ),
    "months as 201501": (
        {"month": MONTHS.strftime("%Y%m").astype(int), "v": VALUES},
        ("month", None, ("v",)),
        0,
        "read as dates: year, month",
    ),
    "earthquakes with a time": (
        {"time": HOURS.strftime("%Y-%m-%dT%H:%M:%S.000Z"), **PLACES},
        ("time", None, ("lat", "long", "mag")),
        0,
        "'lat', 'long' are predicted like other values",
    ),
    "-999": ({"t": range(ROWS), "v": with_holes(-999.0)}, ("t", None, ("v",)), 5, "-999"),
    "1e20": ({"t": range(ROWS), "v": with_holes(1e20)}, ("t", None, ("v",)), 5, "1e+20"),
    "random times": (
        {"t": np.sort(RANDOM.random(ROWS)), "v": VALUES},
        ("t", None, ("v",)),
        0,
        None,
    ),
    "years of two digits": (
        {"day": pd.date_range("1958-03-29", periods=ROWS).strftime("%y-%m-%d"), "co2": VALUES},
        ("day", None, ("co2",)),
        0,
        None,
    ),
    "working days": (
        {"date": pd.bdate_range("2024-01-01", periods=ROWS), "close": VALUES},
        ("date", None, ("close",)),
        0,
        None,
    ),
    "a count beside year and month": (
        {"Year": MONTHS.year, "Month": MONTHS.month, "Traffic": VALUES, "t": range(1, ROWS + 1)},
        ("Year+Month", None, ("Traffic",)),
        0,
        None,
    ),
    "taxes beside the year": (
        {"Year": range(1920, 1920 + ROWS), "C": VALUES, "T": VALUES[::-1]},
        ("Year", None, ("C", "T")),
        0,
        None,
    ),
    "year and quarter": (
        {
            "Year": 1990 + np.arange(ROWS) // 4,
            "Qtr": [f"Q{1 + i % 4}" for i in range(ROWS)],
            "Oil": VALUES,
        },
        ("Year+Qtr", None, ("Oil",)),
        0,
        None,
    ),
    "months as 1947.01": (
        {"date": (MONTHS.year + MONTHS.month / 100).astype("float32"), "sp500": VALUES},
        ("date", None, ("sp500",)),
        0,
        "Numbers such as 2015.01 in 'date' are read as dates",
    ),
    "a date with its year and month": (
        {"date": MONTHS, "year": MONTHS.year, "month": MONTHS.month, "sales": VALUES},
        ("date", None, ("sales",)),
        0,
        None,
    ),
    "dates of orders and deliveries": (
        {"ordered": DAYS, "delivered": DAYS + pd.Timedelta(days=3), "price": VALUES},
        ("ordered", None, ("price",)),
        0,
        "'ordered', 'delivered' may all be the time; 'ordered' is taken",
    ),
    "a few years of a long record": (
        {"year": [*range(-40_000, 0, 1_000), *range(2000, 2050)], "co2": np.arange(90.0)},
        ("year", None, ("co2",)),
        0,
        None,
    ),
    "places of ore": (
        {"x": VALUES, "y": VALUES[::-1], "z": RANDOM.random(ROWS)},
        ("x", None, ("y", "z")),
        0,
        "if 'x', 'y' are where values were observed, name them with inputs=",
    ),
    "clocks put forward": (
        {"t": SPRING.tz_localize(None), "v": VALUES},
        ("t", None, ("v",)),
        0,
        None,
    ),
}


def understood(frame):
    """Return the columns of a table, and where it is predicted, with what was said of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        columns = choose_columns(frame)
        targets = series_targets(SeriesTable.of(frame, columns))
    assert {warning.category for warning in caught} <= {ConvCNPWarning}
    return columns, targets, " ".join(str(warning.message) for warning in caught)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_read_right_at_the_first_try(name):
    content, expected, missing, sentence = TABLES[name]
    text = pd.DataFrame(content).to_csv(index=False).encode()
    columns, targets, said = understood(parse_table(text, "table.csv").frame)
    assert (columns.time, columns.group, columns.values) == expected
    is_even = "evenly spaced" in targets.meaning
    assert (0 if is_even else len(targets.inputs.x)) == missing
    assert (sentence in said) if sentence else not said


def test_missing_rows_of_a_regular_table_are_found():
    frame = pd.DataFrame({"day": DAYS, "v": VALUES}).drop(index=[7, 8, 30])
    _, targets, _ = understood(frame)
    assert len(targets.inputs.x) == 3


def test_earthquakes_without_a_time_are_told_what_to_do():
    with pytest.raises(TableError, match=r"Expected a column of times.*name them with inputs="):
        choose_columns(pd.DataFrame(PLACES))


HEIGHTS = np.array([4.5, 10.9, 28.7, 41.7, 52.7, 60.9])


def test_trees_of_one_age_need_their_group():
    trees = pd.DataFrame(
        {
            "height": np.concatenate([HEIGHTS + VALUES[i] for i in range(8)]),
            "age": [3, 5, 10, 15, 20, 25] * 8,
            "Seed": np.repeat(np.arange(301, 309), 6),
        }
    )
    with pytest.raises(TableError, match=r"share theirs in 'age'.*'Seed' may do so"):
        choose_columns(trees)


def test_two_years_as_columns_are_a_table_on_its_side():
    frame = pd.DataFrame({"country": ["a", "b", "c"], "1999": [1, 2, 3], "2000": [4, 5, 6]})
    with pytest.raises(TableError, match="the names of columns are times themselves"):
        choose_columns(frame)


def test_ranges_among_numbers_are_no_traceback():
    bags = [*["1 and 2", "3", "4", "5"] * 2, *["1 and 2", "3", "4", "5"]]
    frame = pd.DataFrame({"Bags": bags, "Group": ["a"] * 4 + ["b"] * 8, "count": range(12)})
    with pytest.raises(TableError, match="name"):
        understood(frame)


def as_excel(frame):
    pytest.importorskip("openpyxl")
    book = io.BytesIO()
    frame.to_excel(book, index=False)
    return book.getvalue()


def as_zip(frame):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("inner.csv", frame.to_csv(index=False))
    return content.getvalue()


def as_feather(frame):
    content = io.BytesIO()
    frame.to_feather(content)
    return content.getvalue()


@pytest.mark.parametrize(
    "written",
    [
        as_excel,
        as_zip,
        as_feather,
        lambda frame: frame.to_json(orient="records", lines=True).encode(),
    ],
    ids=["Excel", "zip", "Feather", "JSON lines"],
)
def test_a_table_is_the_same_in_every_format(written):
    frame = pd.DataFrame({"day": DAYS.strftime("%Y-%m-%d"), "v": with_holes(np.nan)})
    columns, targets, _ = understood(parse_table(written(frame), "table").frame)
    assert (columns.time, columns.values, len(targets.inputs.x)) == ("day", ("v",), 5)


def test_containers_of_two_dimensions_come_back_filled():
    predictor = convcnp.load("general")
    index = pd.MultiIndex.from_product([["a", "b"], DAYS[:24]], names=["station", "day"])
    frame = pd.DataFrame({"v": with_holes(np.nan)}, index=index)
    filled = predictor.fill(frame)
    assert filled.index.equals(index)
    assert (filled["filled"] == "v").sum() == 5
    grid = predictor.fill(frame["v"].to_xarray())
    assert isinstance(grid, xr.Dataset)
    assert dict(grid.sizes) == {"station": 2, "day": 24}
    np.testing.assert_allclose(grid["v"].to_numpy().ravel(), filled["v"].to_numpy())
    side_by_side = frame.unstack("station")
    wide = predictor.fill(side_by_side)
    assert wide["v"].columns.tolist() == ["a", "b"]
    np.testing.assert_allclose(wide["v"].to_numpy().T.ravel(), filled["v"].to_numpy())
