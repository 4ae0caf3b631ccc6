"""Months by name, in languages of Western Europe, and as pandas reads them: in English."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

import pandas as pd

# In small letters, without accents: English, German, Dutch, French, Spanish, Italian, Portuguese.
_NAMES = (
    "january januar janner januari janvier enero gennaio janeiro",
    "february februar februari fevrier febrero febbraio fevereiro",
    "march marz mrz maart mrt mars marzo marco",
    "april avril abril aprile",
    "may mai mei mayo maggio maio",
    "june juni juin junio giugno junho",
    "july juli juillet julio luglio julho",
    "august augustus aout agosto",
    "september septembre septiembre setiembre settembre setembro",
    "october oktober octobre octubre ottobre outubro",
    "november novembre noviembre novembro",
    "december dezember decembre diciembre dicembre dezembro",
)
ENGLISH = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SHORTEST = 3  # letters of a name that is cut off
# Words of other meanings, which number what they name: months beside whole years alone.
_OTHER_WORDS = {"set", "out", "gen", "ago", "mag", "lug", "mars", "mai"}
_WORD = re.compile(r"([^\W\d_]+)(\.?)")
_NO_LETTERS = {code: " " for code in range(128) if not chr(code).isalpha()}
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_WEEKDAY = re.compile(r"^([^\W\d_]+)\.?,? (?=\d)")
_BETWEEN = re.compile(
    r"(?<=\d)(?:\.|er|\u00ba|\u00b0)(?= ?(?:de )?[^\W\d_]{3})"  # 1er janvier, 1. Januar
    r"|\bdel? ",  # 1 de enero de 2020
    re.IGNORECASE,
)


def month_of(word: str) -> int | None:
    """Return the number of the month that a word names, in full or by its first letters.

    Example:
        >>> month_of("Mär"), month_of("août"), month_of("janv."), month_of("Jui"), month_of("north")
        (3, 8, 1, None, None)
    """
    letters = unicodedata.normalize("NFKD", word.strip().rstrip(".").lower())
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return _months().get(bare)


@cache
def _months() -> dict[str, int]:
    """Return the number of every month by its names and what they begin with, if but one does."""
    found: dict[str, set[int]] = {}
    for number, names in enumerate(_NAMES, 1):
        for name in names.split():
            for count in range(_SHORTEST, len(name) + 1):
                found.setdefault(name[:count], set()).add(number)
    return {name: numbers.pop() for name, numbers in found.items() if len(numbers) == 1}


def in_english(texts: pd.Series) -> pd.Series:
    """Return dates with their months in English; other texts stay as they are.

    Example:
        >>> in_english(pd.Series(["1. März 2020", "enero de 2020", "Set 2"])).tolist()
        ['1 Mar 2020', 'Jan 2020', 'Set 2']
    """
    parts = {*"\n".join(texts.dropna()).translate(_NO_LETTERS).split()}
    words = {word for part in parts for word, _ in _WORD.findall(part)}
    foreign = [word for word in words if month_of(word) and not _is_english(word)]
    if not foreign:
        return texts
    is_so = texts.str.contains("|".join(foreign), regex=True).fillna(False).astype(bool)
    return texts.where(~is_so, texts[is_so].map(_translated).astype(texts.dtype))


def _translated(text: str) -> str:
    months = [word for word, _ in _WORD.findall(text) if month_of(word)]
    if len(months) != 1 or _is_english(months[0]):
        return text
    if months[0].lower() in _OTHER_WORDS and not _YEAR.search(text):
        return text
    number = month_of(months[0])
    assert number is not None
    begins = _WEEKDAY.match(text)
    dated = text if begins is None or month_of(begins[1]) else text[begins.end() :]
    return _BETWEEN.sub("", re.sub(rf"{months[0]}\.?", ENGLISH[number - 1], dated))


def _is_english(word: str) -> bool:
    """Tell whether the word for a month is one that pandas reads."""
    number = month_of(word)
    assert number is not None
    return word.title() in (ENGLISH[number - 1], "Sept", _NAMES[number - 1].split()[0].title())


def own_words(texts: pd.Series) -> dict[int, str]:
    """Return the words for months that texts use, by the numbers of the months.

    Example:
        >>> own_words(pd.Series(["mars 2020", "avr. 2020"]))
        {3: 'mars', 4: 'avr.'}
    """
    found: dict[int, str] = {}
    for text in texts.dropna().astype("string").unique():
        for word, point in _WORD.findall(text):
            number = month_of(word)
            if number is not None:
                found.setdefault(number, word + point)
    return found
