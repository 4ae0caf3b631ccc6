"""Numbers as people write them: 1,234 and 12 %, with signs of money, and dashes for nothing."""

from __future__ import annotations

import warnings

import pandas as pd

from convcnp.errors import ConvCNPWarning
from convcnp.frames.names import words_of
from convcnp.frames.padded import is_padded

_MOST = 0.5  # of the cells: the others are stray words, and complained about where they are used
_SOME = 20  # cells that show that a column holds words
_SIGNS = r"[-\u2014\u2013.?*/_]+"  # alone, as in -, ..., *** and ///
_WORDS = ("nan", "na", "n/a", "n.a.", "#n/a", "null", "none", "nil", "missing", "no data")
_MONEY = r"(?:[$\u20ac\u00a3\u00a5]|(?:EUR|USD|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|BRL)\b)"
_UNIT = r"[0-9.,]*[0-9]( ?(?:[^\W\d_]|\u00b0)\S*(?: \S+)?)"  # 12.5 mg/l, 20.5\u00b0C
_WITH_COMMA = r"[-+]?[0-9]+,[0-9]*"
_TWO_YEARS = r"(FY|WY|AY)? ?([0-9]{4})(?:[-/\u2013]([0-9]{2}|[0-9]{4}))?"
_FEWEST_YEARS = 3  # 2000-01 and 2001-02 alone may be months
_GROUPS = {".": r"[, '\u00a0\u202f\u2019]", ",": r"[. '\u00a0\u202f\u2019]"}  # by decimal sign
_IN_BRACKETS = r"\((.*)\)"  # as accounts write what is negative


def read_numbers(frame: pd.DataFrame, decimal: str) -> pd.DataFrame:
    """Read columns of text whose cells are mostly numbers in disguise, and say so.

    Other cells stay as they are, so that they can be named where a number is needed.

    Example:
        >>> frame = pd.DataFrame({"sales": ["1,234", "980"]})
        >>> with warnings.catch_warnings(action="ignore"):
        ...     read_numbers(frame, ".")["sales"].tolist()
        [1234.0, 980.0]
    """
    found: dict[str, pd.Series] = {}
    for name in frame.columns:
        if pd.api.types.is_numeric_dtype(frame[name]):
            continue
        texts = frame[name].dropna().astype("string").str.strip()
        read = _read(str(name), texts, decimal)
        if read is not None:
            found[name] = read.reindex(frame.index)
    return frame.assign(**found) if found else frame


def _read(name: str, texts: pd.Series, decimal: str) -> pd.Series | None:
    """Return texts as numbers, or with plain numbers among words; nothing where most are words."""
    some = texts[~_are_nothing(texts)]
    years = _first_years(name, some)
    if years is not None:
        _say(name, texts, years, decimal)
        return pd.to_numeric(years)
    plain = _plain(_without_unit(some), decimal)
    if plain is None and some.str.fullmatch(_WITH_COMMA).all():
        plain = _plain(some, ",")  # in quotes, where commas separate
    if plain is None:
        return None
    is_as_written = len(some) == len(texts) and bool((plain == some[plain.index]).all())
    if is_as_written and len(plain) < len(some):
        return None
    _say(name, texts, plain, decimal)
    if len(plain) == len(some) and not is_padded(plain):
        return pd.to_numeric(plain).astype("float64")
    return some.where(~some.index.isin(plain.index), plain).astype(object)


def _are_nothing(texts: pd.Series) -> pd.Series:
    """Tell which cells say that there is no value, in whatever case."""
    return texts.str.fullmatch(_SIGNS).astype(bool) | texts.str.lower().isin(_WORDS)


def _first_years(name: str, texts: pd.Series) -> pd.Series | None:
    """Return the years in which fiscal years, seasons and such begin: 1999 of 1999/00 and FY1999.

    In a column of years, or of a row for each: elsewhere, seasons may tell series apart.
    """
    if len(texts) < _FEWEST_YEARS or not (texts.is_unique or "year" in words_of(name)):
        return None
    if not texts.head(_SOME).str.fullmatch(_TWO_YEARS).all():
        return None
    parts = texts.str.extract(f"^{_TWO_YEARS}$")
    if parts[1].isna().any():
        return None
    first, second = pd.to_numeric(parts[1]), pd.to_numeric(parts[2])
    follow = ((second - first) % 100 == 1) & (second.between(first, first + 1) | (second < 100))
    return parts[1] if (follow | second.isna()).all() else None


def _without_unit(texts: pd.Series) -> pd.Series:
    """Return texts without a unit that stands behind all numbers, if any has a fraction.

    Whole numbers before letters may be names, such as 10m and 20m.
    """
    units = texts.head(_SOME).str.extract(f"^[-+]?{_UNIT}$")[0].dropna().unique()
    if len(units) != 1:
        return texts
    bare = texts.str.removesuffix(units[0])
    has_fraction = bare.str.fullmatch(r"[-+]?[0-9]+[.,][0-9]+") & (bare != texts)
    return bare if has_fraction.any() else texts


def _plain(some: pd.Series, decimal: str) -> pd.Series | None:
    """Return those texts that are numbers, written as computers do, if most are."""
    group = _GROUPS[decimal]
    digits = rf"(?:[0-9]{{1,3}}(?:{group}[0-9]{{3}})+|[0-9]+)(?:\{decimal}[0-9]*)?"
    behind = rf"(?: ?{_MONEY})?(?: ?%)?"
    signed = rf"[-+]?{_MONEY}? ?[-+]?{digits}{behind}"
    number = rf"{signed}|{_MONEY}? ?\({_MONEY}? ?{digits}{behind}\){behind}"
    if not len(some) or some.head(_SOME).str.fullmatch(number).mean() <= _MOST:
        return None
    is_number = some.str.fullmatch(number).astype(bool)
    # Where brackets are around all numbers, they say something else.
    if is_number.mean() <= _MOST or not some.str.fullmatch(signed).any():
        return None
    bare = some[is_number].str.replace(rf"{_MONEY} ?|{group}|%", "", regex=True)
    bare = bare.str.replace(_IN_BRACKETS, r"-\1", regex=True)
    return bare.str.replace(decimal, ".", regex=False).str.strip()


def _say(name: str, texts: pd.Series, plain: pd.Series, decimal: str) -> None:
    """Say how numbers are read that are not written as in other tables."""
    nothing = texts[_are_nothing(texts)].tolist()
    said = [f"{nothing[0]!r} as missing"] if nothing else []
    written = texts[plain.index]
    is_other = written.str.replace(decimal, ".", regex=False) != plain
    in_brackets = is_other & written.str.contains("(", regex=False)
    for is_so in (is_other & ~in_brackets, in_brackets):
        if is_so.any():
            first = is_so.idxmax()
            said.append(f"{written[first]!r} as {float(plain[first]):g}")
    if said:
        warnings.warn(
            f"{name!r} is read as numbers, {' and '.join(said)}.", ConvCNPWarning, stacklevel=6
        )
