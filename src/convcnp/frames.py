"""A user's tables: read them, find what each column is, and turn times into numbers and back."""

from __future__ import annotations

import codecs
import contextlib
import csv
import difflib
import io
import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning, TableError, import_extra

CERTAIN_TIME_NAMES = ("time", "times", "date", "dates", "datetime", "timestamp", "ds", "mjd", "jd")
TIME_NAMES = (*CERTAIN_TIME_NAMES, "t", "x", "year", "month", "week", "day", "hour", "when")
GROUP_NAMES = (
    *("id", "group", "series", "series_id", "unique_id", "item_id", "object_id", "object"),
    *("station", "sensor", "subject", "patient", "key"),
)

_LARGEST = 1e30  # number: squares of larger ones overflow
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")  # characters that no table holds
_PREAMBLE = re.compile(r"\A(?:[ \t]*(?:#[^\n]*)?\r?\n)+")  # blank lines and remarks
_QUOTED = re.compile(r'"[^"]*"')
_CELL = r'(?:^|[;\t]) *"?[-+]?{} *"?(?:[;\t]|\r?$)'
_COMMA_NUMBER = re.compile(_CELL.format(r"\d*,\d+(?:[eE][-+]?\d+)?"), re.MULTILINE)
_POINT_NUMBER = re.compile(_CELL.format(r"\d*\.\d+(?:[eE][-+]?\d+)?"), re.MULTILINE)
_DATE = re.compile(r"(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})(?!\d)")
# What dates look like; the parser takes labels such as T1 or 10m for times of today.
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_WEEKDAY = r"(?:[a-z]{3,9}\.?,? )?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_SHORT_MONTH = re.compile(rf"({_MONTH})[-']+(\d\d)", re.IGNORECASE)  # Jan-19
_DATED = re.compile(
    "|".join(
        (
            rf"(?:1[4-9]|2[01])\d\d[-/. ]?(?:\d|[QW]\d|{_MONTH}).*",  # 2020-01-31
            r"\d{1,2}([-/.])\d{1,2}\1(?:\d{4}|\d{2})(?!\d).*",  # 31.1.2020
            rf"{_WEEKDAY}{_DAY}[-/., ]*{_MONTH}[-/., ]+'?\d{{2,4}}.*",  # 31-Jan-20
            rf"{_WEEKDAY}{_MONTH}[-/., ]*(?:{_DAY}[-/., ]+)?\d{{4}}(?!\d).*",  # January 31, 2020
            rf"{_MONTH}[-/., ]*\d{{1,2}}, *\d\d(?!\d).*",  # Jan 31, 20
            _SHORT_MONTH.pattern,
        )
    ),
    re.IGNORECASE,
)
_CLOCK = r"[-+]?\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[AaPp]\.?[Mm]\.?)?"
_HALF_DAY = re.compile(r" ?([AaPp])\.?[Mm]\.?$")
_DURATION = re.compile(rf"-?\d+ days?(?: {_CLOCK})?|{_CLOCK}")

# --- Reading --------------------------------------------------------------------------------------


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a CSV, TSV or Parquet file, or either from standard input for `-`."""
    name = "standard input" if str(path) == "-" else str(path)
    content = _content(path)
    if not content.strip():
        raise TableError(f"Expected a table in {name}, but it is empty; give it a header and rows.")
    is_parquet = content[:4] == b"PAR1"
    frame = _read_parquet(content, name) if is_parquet else _read_text(_text(content, name), name)
    if frame.empty:
        raise TableError(f"Expected rows below the header of {name}, but there are none; add some.")
    return plain(frame)


def _content(path: str | Path) -> bytes:
    if str(path) == "-":
        return sys.stdin.buffer.read()
    path = Path(path)
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        folder = path.parent
        files = folder.iterdir() if folder.is_dir() else ()
        hint = _did_you_mean(path.name, (other.name for other in files if other.is_file()))
        raise TableError(f"Expected a table in {path}, but there is no such file{hint}") from error
    except OSError as error:
        raise TableError(
            f"Expected a table in {path}, but it cannot be read ({error.strerror}); check the path."
        ) from error


def _read_parquet(content: bytes, name: str) -> pd.DataFrame:
    arrow = import_extra("pyarrow", "parquet")
    try:
        frame = pd.read_parquet(io.BytesIO(content))
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise TableError(
            f"Expected a Parquet file in {name}, but it cannot be read ({_first_line(error)}); it "
            "may be cut short: write it again."
        ) from error
    return frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index()


def _text(content: bytes, name: str) -> str:
    """Decode a table as spreadsheets write it: in UTF-8, UTF-16 or the Western European page."""
    is_wide = content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    for encoding in ["utf-16"] if is_wide else ["utf-8-sig", "cp1252"]:
        with contextlib.suppress(UnicodeDecodeError):
            text = content.decode(encoding)
            if not _CONTROL.search(text):
                return text
    raise TableError(
        f"Expected a CSV, TSV or Parquet file, but {name} is neither text nor Parquet; export "
        "the table as one of these."
    )


def _read_text(text: str, name: str) -> pd.DataFrame:
    text = _PREAMBLE.sub("", text)
    first, _, rest = text.partition("\n")
    bare, second = (_QUOTED.sub("", line) for line in (first, rest.partition("\n")[0]))
    separator = max("\t;,", key=bare.count) if any(c in bare for c in "\t;,") else ","
    has_commas = separator != "," and _COMMA_NUMBER.search(rest) and not _POINT_NUMBER.search(rest)
    decimal = "," if has_commas else "."
    cells = next(csv.reader([first], delimiter=separator))
    # Where quotes tell words from numbers, a first row of quoted numbers is a header.
    is_quoted, next_is_quoted = (not line.strip(f"{separator} \r") for line in (bare, second))
    has_header = (is_quoted and not next_is_quoted) or not _is_data(cells, decimal)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.StringIO(text),
                sep=separator,
                decimal=decimal,
                header=0 if has_header else None,
                skipinitialspace=True,
                index_col=False,  # else rows that end with a separator lose their start
                low_memory=False,  # in pieces, one stray word would give a column two types
            )
    except (pd.errors.ParserWarning, pd.errors.EmptyDataError, ValueError) as error:
        raise TableError(
            f"Expected rows of equal length in {name}, but it cannot be read as a table "
            f"({_first_line(error)}); check the separator and quotes."
        ) from error
    if not has_header:
        frame.columns = pd.Index(["time", *(f"value{i}" for i in range(1, frame.shape[1]))])
    return frame


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose columns have different names, without spaces around, and plain types.

    Periods become the dates they begin at, and Arrow's types those of NumPy.
    """
    if frame.columns.nlevels > 1:
        raise TableError(
            f"Expected one level of column names, got {frame.columns.nlevels}; join them to one."
        )
    frame = frame.rename(columns=plain_name)
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise TableError(
            f"Expected columns of different names, got {twice!r} more than once; rename them."
        )
    columns = {name: _plain_type(frame[name]) for name in frame.columns}
    return pd.DataFrame(columns, index=frame.index, columns=frame.columns)


def plain_name(name: Any) -> str:  # noqa: ANN401 - pandas takes anything for a name
    """Return a column's name as text, without spaces around it."""
    return str(name).strip()


def _plain_type(column: pd.Series) -> pd.Series:
    if isinstance(column.dtype, pd.PeriodDtype):
        return column.dt.to_timestamp()
    if not isinstance(column.dtype, pd.ArrowDtype):
        return column
    zone = getattr(column.dtype.pyarrow_dtype, "tz", None)
    if zone is not None:
        return column.astype(pd.DatetimeTZDtype(column.dtype.pyarrow_dtype.unit, zone))
    return column.astype(column.dtype.numpy_dtype) if column.dtype.kind in "mM" else column


def _is_data(cells: list[str], decimal: str) -> bool:
    """Tell a first row of numbers and dates from a header."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    return bool(filled) and all(
        _is_number(cell.replace(decimal, ".")) or _DATE.match(cell) for cell in filled
    )


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
    """Take the columns that are named, and guess the others; an empty group means no group."""
    given = [] if value is None else [value] if np.ndim(value) == 0 else value
    asked = [plain_name(name) for name in given]
    time, group = (None if name is None else plain_name(name) for name in (time, group))
    for name in (time, group or None, *asked):
        if name is not None and name not in frame.columns:
            names = [str(column) for column in frame.columns]
            raise TableError(
                f"Expected a column {name!r}, but the table has {_listed(names)}"
                f"{_did_you_mean(str(name), names)}"
            )
    named = [name for name in (time, group or None, *asked) if name is not None]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        raise TableError(
            f"Expected different columns for time, group and values, got {twice!r} more than once; "
            "name it once."
        )
    others = [c for c in frame.columns if c not in (group, *asked)]
    time = _guess_time(frame, others) if time is None else time
    others = [c for c in others if c != time]
    group = _guess_group(frame, others) if group is None else group or None
    others = [c for c in others if c != group]
    values = asked or [c for c in others if _is_numeric(frame[c]) and not _counts_rows(frame[c])]
    if not values:
        raise TableError(
            f"Expected a column of numbers beside the time {time!r}, but the other columns are "
            f"{_listed(others) or 'none'}; name one with --value."
        )
    return Columns(time, tuple(values), group)


def _guess_time(frame: pd.DataFrame, candidates: Sequence[str]) -> str:
    named = [c for c in candidates if is_time_name(c)]
    dated = [c for c in candidates if is_date(frame[c])]
    lasting = [c for c in candidates if _is_duration(frame[c])]
    numeric = [c for c in candidates if _is_numeric(frame[c])]
    for found in (dated if len(named) != 1 else named, named, dated, lasting, numeric):
        if found:
            if found is named and len(named) > 1:
                warnings.warn(
                    f"{_listed(named)} may all be the time; {found[0]!r} is taken. If that is "
                    "wrong, name the time and the values.",
                    ConvCNPWarning,
                    stacklevel=4,
                )
            return found[0]
    raise TableError(
        "Expected a column of times, as numbers or dates, but the columns are "
        f"{_listed([str(c) for c in frame.columns])}; name one with --time."
    )


def is_time_name(name: Any) -> bool:  # noqa: ANN401 - of a column
    """Tell whether a name is one that columns of times have."""
    return str(name).lower() in TIME_NAMES


def _guess_group(frame: pd.DataFrame, candidates: Sequence[str]) -> str | None:
    for column in candidates:
        if str(column).lower() in GROUP_NAMES:
            if len(frame) > 1 and frame[column].is_unique:
                warnings.warn(
                    f"{column!r} is taken to tell {len(frame):,} series of one row each apart; if "
                    'it only numbers the rows, give an empty group: --group "".',
                    ConvCNPWarning,
                    stacklevel=4,
                )
            return column
    words = [c for c in candidates if _is_label(frame[c])]
    repeated = [c for c in words if 1 <= frame[c].nunique() <= len(frame) / 2]
    return repeated[0] if len(repeated) == 1 else None


def _counts_rows(column: pd.Series) -> bool:
    """Tell whether a column is the number of the row, which exports like to put first."""
    return (
        str(column.name).lower() in ("unnamed: 0", "rownames", "index", "id")
        and pd.api.types.is_integer_dtype(column)
        and bool((column.diff().iloc[1:] == 1).all())
    )


def _is_numeric(column: pd.Series) -> bool:
    if _is_flag(column) or column.dtype.kind in "mM":
        return False
    if pd.api.types.is_numeric_dtype(column) or column.isna().all():
        return True
    # Numbers with a stray word are numbers; the word is complained about when they are used.
    return bool(pd.to_numeric(column.dropna(), errors="coerce").notna().mean() > 0.5)


def is_date(column: pd.Series) -> bool:
    """Tell whether a column holds dates, or texts that are."""
    if column.dtype.kind == "M":
        return True
    if not _is_text(column):
        return False
    some = column.dropna().head(20)
    dated = some[[_DATED.fullmatch(str(text).strip()) is not None for text in some]]
    return bool(_parsed_dates(dated).notna().sum() > 0.5 * len(some))


def _is_duration(column: pd.Series) -> bool:
    """Tell whether a column holds durations or clock times, or texts that are."""
    if column.dtype.kind == "m" or not _is_text(column):
        return bool(column.dtype.kind == "m")
    some = column.dropna().head(20).astype("string").str.strip()
    return bool(some.str.fullmatch(_DURATION).mean() > 0.5)


def _is_label(column: pd.Series) -> bool:
    """Tell whether a column holds words, which may tell series apart."""
    return _is_text(column) and not is_date(column) and not _is_duration(column)


def _is_text(column: pd.Series) -> bool:
    return not (_is_numeric(column) or _is_flag(column) or column.dtype.kind in "mM")


def _is_flag(column: pd.Series) -> bool:
    """Tell whether a column holds true and false, of which some may be missing."""
    if column.dtype != object:
        return bool(pd.api.types.is_bool_dtype(column))
    cells = column.dropna()
    return len(cells) > 0 and all(isinstance(cell, bool) for cell in cells)


def numbers(frame: pd.DataFrame, name: str) -> np.ndarray:
    """Return a column as floats, NaN where cells are missing."""
    column = frame[name]
    if column.dtype.kind in "mM":
        _refuse_first(column.notna().to_numpy(), column, name, "a number")
    converted = pd.to_numeric(column, errors="coerce")
    values: np.ndarray = converted.to_numpy(dtype=np.float64, na_value=np.nan)
    bad = np.isnan(values) & column.notna().to_numpy()
    _refuse_first(bad, column, name, "a number")
    _refuse_first(np.isinf(values), column, name, "a finite number")
    _refuse_first(np.abs(values) > _LARGEST, column, name, f"a number below {_LARGEST:g}")
    return values


def _refuse_first(bad: np.ndarray, column: pd.Series, name: str, expected: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        cell = column.iloc[row]
        raise TableError(
            f"Expected {expected} in every cell of {name!r}, got "
            f"{repr(cell) if isinstance(cell, str) else cell} in row {row + 1} of {len(column)}; "
            "correct it, or leave the cell empty."
        )


# --- Times ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TimeAxis:
    """Turns a column's times into numbers, and numbers into times of the same type.

    Dates become seconds since the first of them, so that floats resolve nanoseconds of a day, and
    integers that floats cannot tell apart are counted from the first as well.
    """

    dtype: Any
    origin: Any = None  # a Timestamp of dates, a Timedelta of durations, or a large integer
    day_first: bool = False  # in dates written like 13/02/2020
    is_compact: bool = False  # dates are written like 20200213

    @classmethod
    def of(cls, column: pd.Series) -> TimeAxis:
        """Describe a column of times."""
        day_first, is_compact = _is_day_first(column), _is_compact(column)
        parsed = _parsed_times(column, day_first, is_compact)
        if parsed.dtype.kind == "m":
            return cls(parsed.dtype, pd.Timedelta(0))
        if parsed.dtype.kind == "M":
            origin = parsed.min()
            return cls(
                parsed.dtype,
                pd.Timestamp(0, tz=parsed.dt.tz) if pd.isna(origin) else origin,
                day_first,
                is_compact,
            )
        if parsed.dtype.kind in "iu" and parsed.abs().max() > 2**53:
            return cls(parsed.dtype, int(parsed.min()))
        return cls(parsed.dtype)

    def numbers(self, times: pd.Series) -> np.ndarray:
        """Return times as floats, NaN where cells are missing."""
        parsed = _parsed_times(times, self.day_first, self.is_compact)
        kind = self.dtype.kind if self.dtype.kind in "mM" else "number"
        if kind != (parsed.dtype.kind if parsed.dtype.kind in "mM" else "number"):
            names = {"M": "dates", "m": "durations", "number": "numbers"}
            raise TableError(
                f"Expected times as {names[kind]}, like the series', got times such as "
                f"{parsed.iloc[0]}; give both in one form."
            )
        if kind == "number":
            if self.origin is not None and parsed.dtype.kind in "iu":
                parsed = parsed - self.origin
            elif self.origin is not None:
                parsed = parsed.astype(float) - self.origin
            return numbers(parsed.to_frame(times.name), times.name)
        if kind == "M":
            parsed = self._in_zone(parsed)
        seconds: np.ndarray = ((parsed - self.origin) / pd.Timedelta(seconds=1)).to_numpy()
        return seconds

    def _in_zone(self, dates: pd.Series) -> pd.Series:
        """Read clocks without a zone as those of the series, and those with one as UTC."""
        if (dates.dt.tz is None) == (self.origin.tz is None):
            return dates
        if dates.dt.tz is not None:
            return dates.dt.tz_convert("UTC").dt.tz_localize(None)
        is_summer = np.ones(len(dates), dtype=bool)  # of two times with one name, the first
        return dates.dt.tz_localize(
            self.origin.tz, ambiguous=is_summer, nonexistent="shift_forward"
        )

    def times(self, values: np.ndarray) -> pd.Index:
        """Return numbers as times of the column's type."""
        if self.dtype.kind in "mM":
            return self._dates(values)
        whole = np.round(values)
        if self.origin is not None:
            return pd.Index(self.origin + whole.astype("int64"))
        if self.dtype.kind in "iu" and np.array_equal(values, whole):
            return pd.Index(whole.astype("int64"))
        return pd.Index(values)

    def _dates(self, seconds: np.ndarray) -> pd.Index:
        """Return dates in the column's resolution, or a finer one where they need it."""
        own = getattr(self.dtype, "unit", None) or np.datetime_data(self.dtype)[0]
        units = sorted(_PER_SECOND, key=lambda unit: _PER_SECOND[unit] < _PER_SECOND[own])
        precision = np.spacing(np.abs(seconds).max(initial=0.0))
        index = None
        for unit in units:
            steps = np.round(seconds * _PER_SECOND[unit])
            try:
                index = self.origin.as_unit(unit) + pd.TimedeltaIndex(
                    _checked_int64(steps).astype(f"timedelta64[{unit}]")
                )
            except (OverflowError, ValueError):  # too far away for this resolution
                if index is not None:
                    break
                continue
            if np.abs(steps / _PER_SECOND[unit] - seconds).max(initial=0.0) <= precision:
                break
        return index


_ISO: dict[str, Any] = {"format": "ISO8601"}
_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def _checked_int64(values: np.ndarray) -> np.ndarray:
    if np.abs(values).max(initial=0.0) >= 2**63:
        raise OverflowError
    return values.astype("int64")


def _parsed_times(
    column: pd.Series, day_first: bool = False, is_compact: bool = False
) -> pd.Series:
    """Return times as numbers, dates or durations, and name the first cell that is none."""
    if column.dtype.kind in "mM":
        return column
    if len(column) and not column.notna().any():
        raise TableError(
            f"Expected times in {column.name!r}, but all its cells are missing; name another "
            "column with --time."
        )
    if _is_numeric(column):
        values = pd.to_numeric(column, errors="coerce")
        is_bad = (values.isna() & column.notna()).to_numpy()
        _refuse_first(is_bad, column, str(column.name), "a date or number")
        if not is_compact:
            return values
        dates = _compact_dates(values)
        is_bad = (dates.isna() & column.notna()).to_numpy()
        _refuse_first(is_bad, column, str(column.name), "a date such as 20200131")
        return dates
    if _is_duration(column):
        parsed = _parsed_durations(column)
        expected = "a clock time or duration, as in other rows,"
    else:
        parsed = _parsed_dates(column, day_first)
        expected = "a date, as in other rows," if parsed.notna().any() else "a date or number"
    is_bad = (parsed.isna() & column.notna()).to_numpy()
    _refuse_first(is_bad, column, str(column.name), expected)
    return parsed


def _is_compact(column: pd.Series) -> bool:
    """Tell whether whole numbers are dates written like 20200213: each of them could be one."""
    if column.dtype.kind in "mM" or not _is_numeric(column) or not column.notna().any():
        return False
    values = pd.to_numeric(column.dropna(), errors="coerce")
    if not (values.between(1500_01_01, 2500_12_31) & (values % 1 == 0)).all():
        return False
    if not _compact_dates(values).notna().all():
        return False
    warnings.warn(
        f"Whole numbers such as {values.iloc[0]:.0f} in {column.name!r} are read as dates: "
        "year, month, day.",
        ConvCNPWarning,
        stacklevel=4,
    )
    return True


def _compact_dates(column: pd.Series) -> pd.Series:
    """Read numbers like 20200213 as dates, NaT where they are none."""
    texts = column.astype("Int64").astype("string")
    return pd.to_datetime(texts, format="%Y%m%d", errors="coerce")


def _parsed_durations(column: pd.Series) -> pd.Series:
    """Parse durations, NaT where it is impossible; clock times are those since midnight."""
    texts = column.astype("string").str.strip()
    half = texts.str.extract(_HALF_DAY)[0].str.lower()  # a for the morning, p for the afternoon
    texts = texts.str.replace(_HALF_DAY, "", regex=True)
    has_no_seconds = texts.str.count(":") == 1
    passed = pd.to_timedelta(texts.mask(has_no_seconds, texts + ":00"), errors="coerce")
    noon = pd.Timedelta(hours=12)
    of_half = passed % noon + noon * (half == "p").fillna(False).astype(int)
    return passed.where(half.isna(), of_half)


def _parsed_dates(column: pd.Series, day_first: bool = False) -> pd.Series:
    """Parse dates, NaT where it is impossible; clocks of different zones are put to UTC."""
    texts = column.astype("string")
    if texts.dropna().str.strip().str.fullmatch(_SHORT_MONTH).all():
        parts = texts.str.strip().str.extract(_SHORT_MONTH)
        return pd.to_datetime(parts[0].str[:3] + parts[1], format="%b%y").rename(column.name)
    best = pd.Series(pd.NaT, index=column.index, name=column.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas warns when it has to guess day and month
        order = {"dayfirst": day_first}
        for options in (_ISO, order, {"format": "mixed", **order}):
            try:
                parsed = pd.to_datetime(texts, errors="coerce", **options)
            except (ValueError, TypeError):  # zones differ
                parsed = pd.to_datetime(texts, errors="coerce", utc=True, **options)
            if options is not _ISO:
                parsed = parsed.where(parsed.dt.year > 1000)  # a date without a year gets the first
            if parsed.notna().sum() > best.notna().sum():
                best = pd.Series(parsed, index=column.index, name=column.name)
            if best.notna().sum() == texts.notna().sum():
                break
    return best


def _is_day_first(column: pd.Series) -> bool:
    """Tell whether dates are written as 13/02/2020, by those that can be nothing else."""
    some = column.dropna().head(1)
    if column.dtype.kind in "mMiufb" or some.empty or not _DATE.match(str(some.iloc[0]).strip()):
        return False
    parts = column.dropna().astype("string").str.strip().str.extract(_DATE)
    first, second = pd.to_numeric(parts[0]), pd.to_numeric(parts[2])
    if first.max() > 31 or (second > 12).any():
        return False
    if (first > 12).any() or (parts[1] == ".").all():
        return True
    warnings.warn(
        f"Dates such as {some.iloc[0]} in {column.name!r} are read as month, day, year; write "
        "year-month-day to be certain.",
        ConvCNPWarning,
        stacklevel=4,
    )
    return False


# --- Series ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ragged:
    """Series of different lengths, one after the other: series i has rows starts[i]:starts[i+1]."""

    x: np.ndarray  # (R,), the times
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
        x, y, codes = x[has_time], y[has_time], codes[has_time]
        if labels is not None:
            present, codes = np.unique(codes, return_inverse=True)
            labels = labels[present]
        order = np.lexsort((x, codes))
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
