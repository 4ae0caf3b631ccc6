"""A user's tables: read them, find what each column is, and turn times into numbers and back."""

from __future__ import annotations

import difflib
import io
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning, TableError, import_extra

TIME_NAMES = (
    *("time", "times", "date", "dates", "datetime", "timestamp", "ds", "t", "x"),
    *("year", "month", "week", "day", "hour", "mjd", "jd"),
)
GROUP_NAMES = (
    *("id", "group", "series", "series_id", "unique_id", "item_id", "object_id", "object"),
    *("station", "sensor", "subject", "patient", "key"),
)

# --- Reading --------------------------------------------------------------------------------------


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a CSV, TSV or Parquet file, or CSV from standard input for `-`."""
    name = "standard input" if str(path) == "-" else str(path)
    content = _content(path)
    if not content.strip():
        raise TableError(f"Expected a table in {name}, but it is empty; give it a header and rows.")
    if content[:4] == b"PAR1":
        return _read_parquet(content, name)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise TableError(
            f"Expected a CSV, TSV or Parquet file, but {name} is neither text nor Parquet; export "
            "the table as one of these."
        )
    frame = _read_text(text, name)
    if frame.empty:
        raise TableError(f"Expected rows below the header of {name}, but there are none; add some.")
    return frame


def _content(path: str | Path) -> bytes:
    if str(path) == "-":
        return sys.stdin.buffer.read()
    path = Path(path)
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        folder = path.parent
        names = [other.name for other in folder.iterdir()] if folder.is_dir() else []
        hint = _did_you_mean(path.name, names)
        raise TableError(f"Expected a table in {path}, but there is no such file{hint}") from error
    except OSError as error:
        raise TableError(
            f"Expected a table in {path}, but it cannot be read ({error.strerror}); check the path."
        ) from error


def _read_parquet(content: bytes, name: str) -> pd.DataFrame:
    arrow = import_extra("pyarrow", "parquet")
    try:
        return pd.read_parquet(io.BytesIO(content))
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise TableError(
            f"Expected a Parquet file in {name}, but it cannot be read ({_first_line(error)}); it "
            "may be cut short: write it again."
        ) from error


def _read_text(text: str, name: str) -> pd.DataFrame:
    first, _, rest = text.lstrip().partition("\n")
    separator = max("\t;,", key=first.count) if any(c in first for c in "\t;,") else ","
    decimal = "," if separator == ";" and "," in rest and "." not in rest else "."
    has_header = not all(_is_number(cell) for cell in first.split(separator))
    try:
        frame = pd.read_csv(
            io.StringIO(text),
            sep=separator,
            decimal=decimal,
            header=0 if has_header else None,
            skipinitialspace=True,
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        raise TableError(
            f"Expected rows of equal length in {name}, but it cannot be read as a table "
            f"({_first_line(error)}); check the separator and quotes."
        ) from error
    if not has_header:
        frame.columns = pd.Index(["time", *(f"value{i}" for i in range(1, frame.shape[1]))])
    return frame.rename(columns=lambda column: str(column).strip())


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__


# --- Columns --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Columns:
    """Which column is the time, which are values, and which tells series apart."""

    time: str
    values: tuple[str, ...]
    group: str | None = None


def choose_columns(
    frame: pd.DataFrame,
    time: str | None = None,
    value: str | Sequence[str] | None = None,
    group: str | None = None,
) -> Columns:
    """Take the columns that are named, and guess the others."""
    asked = [value] if isinstance(value, str) else list(value or [])
    for name in (time, group, *asked):
        if name is not None and name not in frame.columns:
            names = [str(column) for column in frame.columns]
            raise TableError(
                f"Expected a column {name!r}, but the table has {_listed(names)}"
                f"{_did_you_mean(name, names)}"
            )
    others = [c for c in frame.columns if c not in (group, *asked)]
    time = time or _guess_time(frame, others)
    others = [c for c in others if c != time]
    group = group or _guess_group(frame, others)
    values = asked or [c for c in others if c != group and _is_numeric(frame[c])]
    if not values:
        raise TableError(
            f"Expected a column of numbers beside the time {time!r}, but the other columns are "
            f"{_listed([c for c in others if c != group]) or 'none'}; name one with --value."
        )
    return Columns(time, tuple(values), group)


def _guess_time(frame: pd.DataFrame, candidates: Sequence[str]) -> str:
    named = [c for c in candidates if str(c).lower() in TIME_NAMES]
    dated = [c for c in candidates if _is_date(frame[c])]
    numeric = [c for c in candidates if _is_numeric(frame[c])]
    for found in (dated if len(named) != 1 else named, named, dated, numeric):
        if found:
            return found[0]
    raise TableError(
        "Expected a column of times, as numbers or dates, but the columns are "
        f"{_listed([str(c) for c in frame.columns])}; name one with --time."
    )


def _guess_group(frame: pd.DataFrame, candidates: Sequence[str]) -> str | None:
    for column in candidates:
        if str(column).lower() in GROUP_NAMES:
            return column
    words = [c for c in candidates if not _is_numeric(frame[c]) and not _is_date(frame[c])]
    repeated = [c for c in words if 1 <= frame[c].nunique() <= len(frame) / 2]
    return repeated[0] if len(repeated) == 1 else None


def _is_numeric(column: pd.Series) -> bool:
    if pd.api.types.is_bool_dtype(column):
        return False
    if pd.api.types.is_numeric_dtype(column) or column.isna().all():
        return True
    # Numbers with a stray word are numbers; the word is complained about when they are used.
    return bool(pd.to_numeric(column.dropna(), errors="coerce").notna().mean() > 0.5)


def _is_date(column: pd.Series) -> bool:
    if pd.api.types.is_datetime64_any_dtype(column):
        return True
    if _is_numeric(column):
        return False
    some = column.dropna().head(20)
    return bool(_parsed_dates(some).notna().mean() > 0.5) if len(some) else False


def numbers(frame: pd.DataFrame, name: str) -> np.ndarray:
    """Return a column as floats, NaN where cells are missing."""
    column = frame[name]
    converted = pd.to_numeric(column, errors="coerce")
    values: np.ndarray = converted.to_numpy(dtype=np.float64, na_value=np.nan)
    bad = np.isnan(values) & column.notna().to_numpy()
    _refuse_first(bad, column, name, "a number")
    _refuse_first(np.isinf(values), column, name, "a finite number")
    return values


def _refuse_first(bad: np.ndarray, column: pd.Series, name: str, expected: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise TableError(
            f"Expected {expected} in every cell of {name!r}, got {column.iloc[row]!r} in row "
            f"{row + 1} of {len(column)}; correct it, or leave the cell empty."
        )


# --- Times ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TimeAxis:
    """Turns a column's times into numbers, and numbers into times of the same type.

    Dates become seconds since the first of them, so that floats resolve nanoseconds of a day.
    """

    dtype: Any
    origin: pd.Timestamp | None = None  # of dates; none for numbers

    @classmethod
    def of(cls, column: pd.Series) -> TimeAxis:
        """Describe a column of times."""
        parsed = _parsed_times(column)
        if not pd.api.types.is_datetime64_any_dtype(parsed):
            return cls(parsed.dtype)
        origin = parsed.min()
        return cls(parsed.dtype, pd.Timestamp(0, tz=parsed.dt.tz) if pd.isna(origin) else origin)

    def numbers(self, times: pd.Series) -> np.ndarray:
        """Return times as floats, NaN where cells are missing."""
        parsed = _parsed_times(times)
        if self.origin is None:
            if pd.api.types.is_datetime64_any_dtype(parsed):
                raise TableError(
                    f"Expected times as numbers, like the series', got dates such as "
                    f"{parsed.iloc[0]}; give both in one form."
                )
            return numbers(parsed.to_frame(times.name), times.name)
        if not pd.api.types.is_datetime64_any_dtype(parsed):
            raise TableError(
                f"Expected times as dates, like the series', got numbers such as "
                f"{parsed.iloc[0]}; give both in one form."
            )
        if (parsed.dt.tz is None) != (self.origin.tz is None):
            zone = parsed.dt.tz or self.origin.tz
            parsed = (
                parsed.dt.tz_localize(zone)
                if parsed.dt.tz is None
                else parsed.dt.tz_convert("UTC").dt.tz_localize(None)
            )
        seconds: np.ndarray = ((parsed - self.origin) / pd.Timedelta(seconds=1)).to_numpy()
        return seconds

    def times(self, values: np.ndarray) -> pd.Index:
        """Return numbers as times of the column's type."""
        if self.origin is not None:
            steps = pd.to_timedelta(np.round(values * 1e9).astype("int64"), unit="ns")
            index = pd.DatetimeIndex(self.origin + steps)
            return index.as_unit(_unit_of(self.dtype, index))
        whole = np.round(values)
        if pd.api.types.is_integer_dtype(self.dtype) and np.array_equal(values, whole):
            return pd.Index(whole.astype("int64"))
        return pd.Index(values)


def _unit_of(dtype: Any, index: pd.DatetimeIndex) -> Any:  # noqa: ANN401 - pandas' own types
    """Return the column's resolution if these times need no finer one."""
    unit = getattr(dtype, "unit", None) or np.datetime_data(dtype)[0]
    return unit if (index.as_unit(unit) == index).all() else "ns"


def _parsed_times(column: pd.Series) -> pd.Series:
    """Return times as numbers or dates, and name the first cell that is neither."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return column
    if not column.notna().any():
        raise TableError(
            f"Expected times in {column.name!r}, but all its cells are missing; name another "
            "column with --time."
        )
    if _is_numeric(column):
        return pd.to_numeric(column) if column.dtype != object else column
    parsed = _parsed_dates(column)
    _refuse_first(
        (parsed.isna() & column.notna()).to_numpy(), column, str(column.name), "a date or number"
    )
    return parsed


def _parsed_dates(column: pd.Series) -> pd.Series:
    """Parse dates, NaT where it is impossible; clocks of different zones are put to UTC."""
    texts = column.astype("string")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas warns when it has to guess day and month
        for options in ({"format": "ISO8601"}, {}, {"format": "mixed"}):
            try:
                parsed = pd.to_datetime(texts, errors="coerce", **options)
            except (ValueError, TypeError):  # zones differ
                parsed = pd.to_datetime(texts, errors="coerce", utc=True, **options)
            if parsed.notna().any():
                return pd.Series(parsed, index=column.index, name=column.name)
    return pd.Series(pd.NaT, index=column.index, name=column.name)


# --- Series ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ragged:
    """Series of different lengths, one after the other: series i has rows starts[i]:starts[i+1]."""

    x: np.ndarray  # (R,)
    starts: np.ndarray  # (S + 1,)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Rows of each series."""
        lengths: np.ndarray = np.diff(self.starts)
        return lengths

    @property
    def owners(self) -> np.ndarray:
        """The series that each row belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)


@dataclass(frozen=True)
class SeriesTable:
    """A user's table as arrays, sorted by series and time."""

    columns: Columns
    axis: TimeAxis
    labels: pd.Index | None  # of the series, if there is a group column
    series: Ragged
    y: np.ndarray  # (R, values), NaN where nothing was observed

    @classmethod
    def of(cls, frame: pd.DataFrame, columns: Columns) -> SeriesTable:
        """Read the chosen columns; rows without a time are left out."""
        axis = TimeAxis.of(frame[columns.time])
        x = axis.numbers(frame[columns.time])
        y = np.stack([numbers(frame, name) for name in columns.values], 1)
        codes, labels = _grouped(frame, columns.group)
        has_time = ~np.isnan(x) & (codes >= 0)
        if not has_time.all():
            warnings.warn(
                f"{(~has_time).sum():,} of {len(frame):,} rows have no time or no series and are "
                "left out.",
                ConvCNPWarning,
                stacklevel=3,
            )
        if np.isnan(y[has_time]).all():
            raise TableError(
                f"Expected observed values in {_listed(columns.values)}, but every cell is "
                "missing; name another column with --value."
            )
        order = np.lexsort((x, codes))
        order = order[has_time[order]]
        count = len(labels) if labels is not None else 1
        starts = np.searchsorted(codes[order], np.arange(count + 1))
        return cls(columns, axis, labels, Ragged(x[order], starts), y[order])

    def asked_in(self, frame: pd.DataFrame) -> tuple[Ragged, np.ndarray]:
        """Read the times asked for, from a table with columns of the same names.

        Also returns the row of that table which each of them stands in.
        """
        columns = self.columns
        names = [columns.time] if columns.group is None else [columns.time, columns.group]
        for name in names:
            if name not in frame.columns:
                present = [str(column) for column in frame.columns]
                raise TableError(
                    f"Expected a column {name!r} in the table of asked times, like the series', "
                    f"but it has {_listed(present)}{_did_you_mean(name, present)}"
                )
        x = self.axis.numbers(frame[columns.time])
        if np.isnan(x).any():
            raise TableError(
                f"Expected a time in every row asked for, but row {int(np.isnan(x).argmax()) + 1} "
                f"has none in {columns.time!r}; fill or remove it."
            )
        codes = np.zeros(len(frame), dtype=np.int64)
        if self.labels is not None:
            codes = self.labels.get_indexer(pd.Index(frame[columns.group]))
            if (codes < 0).any():
                label = frame[columns.group].iloc[int((codes < 0).argmax())]
                raise TableError(
                    f"Expected series that are in the table, but {label!r} in {columns.group!r} is "
                    f"not{_did_you_mean(str(label), map(str, self.labels))}"
                )
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(len(self.series) + 1))
        return Ragged(x[order], starts), order

    def frame(self, asked: Ragged) -> pd.DataFrame:
        """Return the table that answers begin with: series, if there are several, and times."""
        content: dict[str, Any] = {}
        if self.labels is not None and self.columns.group is not None:
            content[self.columns.group] = self.labels[asked.owners]
        content[self.columns.time] = self.axis.times(asked.x)
        return pd.DataFrame(content)


def _grouped(frame: pd.DataFrame, group: str | None) -> tuple[np.ndarray, pd.Index | None]:
    if group is None:
        return np.zeros(len(frame), dtype=np.int64), None
    codes, labels = pd.factorize(frame[group])
    return codes, pd.Index(labels)


def _listed(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), 1, cutoff=0.4)
    return f"; did you mean {near[0]!r}?" if near else "; check the name."
