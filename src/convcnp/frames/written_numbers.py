"""Numbers as people write them: 1,234 and 12 %, with signs of money, and dashes for nothing."""

from __future__ import annotations

import warnings

import pandas as pd

from convcnp.errors import ConvCNPWarning

_MOST = 0.5  # of the cells: the others are stray words, and complained about where they are used
_NOTHING = ("-", "--", "—", "\u2013", ".", "..", "...", "?", "*")
_MONEY = r"[$\u20ac\u00a3\u00a5]"
_WITH_COMMA = r"[-+]?\d+,\d*"
_GROUPS = {".": r"[, '\u00a0\u202f\u2019]", ",": r"[. '\u00a0\u202f\u2019]"}  # by decimal sign


def read_numbers(frame: pd.DataFrame, decimal: str) -> pd.DataFrame:
    """Read columns of text whose every cell is a number in disguise, and say so.

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
        values = _values(texts, decimal)
        if values is None and texts[~texts.isin(_NOTHING)].str.fullmatch(_WITH_COMMA).all():
            values = _values(texts, ",")  # in quotes, where commas separate
        if values is None and decimal == ",":
            found |= _commas_among_words(frame[name])
        if values is not None:
            _say(str(name), texts, values)
            found[name] = values.reindex(frame.index)
    return frame.assign(**found) if found else frame


def _commas_among_words(column: pd.Series) -> dict[str, pd.Series]:
    """Return a column of numbers with some words, decimal points in place of commas."""
    texts = column.dropna().astype("string").str.strip()
    is_number = texts.str.fullmatch(rf"{_WITH_COMMA}|[-+]?\d+")
    if not len(texts) or is_number.mean() <= _MOST or not texts.str.fullmatch(_WITH_COMMA).any():
        return {}
    points = texts.where(~is_number, texts.str.replace(",", ".", regex=False))
    return {str(column.name): points.astype(object).reindex(column.index)}


def _values(texts: pd.Series, decimal: str) -> pd.Series | None:
    """Return texts as numbers, if all are, and some are written in one of these ways."""
    some = texts[~texts.isin(_NOTHING)]
    group = _GROUPS[decimal]
    digits = rf"\d{{1,3}}(?:{group}\d{{3}})+|\d+"
    number = rf"[-+]?{_MONEY}? ?[-+]?(?:{digits})(?:\{decimal}\d*)?(?: ?{_MONEY})?(?: ?%)?"
    if not len(some) or not some.head(20).str.fullmatch(number).all():
        return None
    if not some.str.fullmatch(number).all():
        return None
    bare = some.str.replace(rf"{_MONEY}|{group}|%", "", regex=True)
    return pd.to_numeric(bare.str.replace(decimal, ".", regex=False).str.strip()).astype("float64")


def _say(name: str, texts: pd.Series, values: pd.Series) -> None:
    nothing = [text for text in _NOTHING if (texts == text).any()]
    plain = pd.to_numeric(texts.loc[values.index], errors="coerce").isna()
    said = [f"{nothing[0]!r} as missing"] if nothing else []
    if plain.any():
        first = plain.idxmax()
        said.append(f"{texts[first]!r} as {values[first]:g}")
    warnings.warn(
        f"{name!r} is read as numbers, {' and '.join(said)}.", ConvCNPWarning, stacklevel=6
    )
