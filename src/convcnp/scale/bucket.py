"""Predictions for the series of one bucket, many at once; one that fails is named."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPError, ConvCNPWarning
from convcnp.frames.gaps import gaps_of
from convcnp.frames.series import SeriesTable
from convcnp.frames.targets import Targets, TargetText
from convcnp.predict.predictor import Predictor
from convcnp.scale.form import GAPS, Form

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass
class Answered:
    """What came of the series of a bucket."""

    answers: list[pd.DataFrame] = field(default_factory=list)
    errors: list[tuple[Any, str]] = field(default_factory=list)  # of a series, and its sentence
    warnings: Counter[str] = field(default_factory=Counter)  # by kind
    series: int = 0

    @property
    def answer(self) -> pd.DataFrame | None:
        """All answers as one table, if there are any."""
        return pd.concat(self.answers, ignore_index=True) if self.answers else None

    def counts(self, group: str) -> dict[str, int]:
        """Return how many series came in, were answered, had nothing to answer, and failed."""
        answer = self.answer
        answered = 0 if answer is None else int(answer[group].nunique())
        failed = len(self.errors)
        return {
            "series": self.series,
            "answered": answered,
            "nothing_asked": self.series - answered - failed,
            "errors": failed,
            "rows": 0 if answer is None else len(answer),
        }


def answer_bucket(
    predictor: Predictor, form: Form, frame: pd.DataFrame, most_rows: int
) -> Answered:
    """Predict the series of a table.

    Args:
        most_rows: Of a series; one with more is not predicted, and of several together.
    """
    found = Answered()
    if frame.empty:
        return found
    codes, labels = pd.factorize(frame[form.group])
    found.series = len(labels)
    sizes = np.bincount(codes)
    usable = np.zeros(len(labels), dtype=bool)
    usable[codes[_is_observed(form, frame)]] = True
    for code in np.flatnonzero(~usable | (sizes > most_rows)):
        found.errors.append((labels[code], _refusal(int(sizes[code]), most_rows)))
    for members in _chunks(np.flatnonzero(usable & (sizes <= most_rows)), sizes, most_rows):
        _answer(predictor, form, frame, codes, labels, members, found)
    return found


def _is_observed(form: Form, frame: pd.DataFrame) -> np.ndarray:
    """Tell which rows have a time and a cell that is not empty."""
    cells = frame[list(form.columns.values)].notna().any(axis=1)
    known: np.ndarray = (cells & frame[form.time].notna()).to_numpy()
    return known


def _refusal(rows: int, most_rows: int) -> str:
    if rows > most_rows:
        return (
            f"Expected a series of at most {most_rows:,} rows, which fit into memory, got {rows:,};"
            " raise memory=, or cut it."
        )
    return "Expected a row with a time and an observed value, but the series has none; add some."


def _chunks(members: np.ndarray, sizes: np.ndarray, most_rows: int) -> Iterator[np.ndarray]:
    """Yield series, as many together as have at most so many rows."""
    total = np.cumsum(sizes[members])
    which = (total - 1) // max(most_rows, 1)
    yield from np.split(members, np.flatnonzero(np.diff(which)) + 1) if len(members) else ()


def _answer(
    predictor: Predictor,
    form: Form,
    frame: pd.DataFrame,
    codes: np.ndarray,
    labels: pd.Index,
    members: np.ndarray,
    found: Answered,
) -> None:
    """Predict some series together; if that fails, the halves of them, down to the one at fault."""
    rows = frame if len(members) == len(labels) else frame[np.isin(codes, members)]
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", ConvCNPWarning)
            answer = _predicted(predictor, form, rows.reset_index(drop=True))
    except (ConvCNPError, MemoryError) as error:
        if len(members) == 1:
            sentence = str(error) or "Expected the series to fit into memory; it does not."
            found.errors.append((labels[members[0]], sentence))
            return
        for half in np.array_split(members, 2):
            _answer(predictor, form, frame, codes, labels, half, found)
        return
    found.warnings.update(kind_of_warning(str(warning.message)) for warning in said)
    if answer is not None:
        found.answers.append(answer)


def _predicted(predictor: Predictor, form: Form, frame: pd.DataFrame) -> pd.DataFrame | None:
    """Predict a table as one process does, except that no gaps are no error."""
    if form.at != GAPS:
        at = TargetText(form.at)
        request = predictor.request(frame, at, form.columns, form.limits)
    else:
        request = predictor.request(frame, 1, form.columns, form.limits)
        assert isinstance(request.table, SeriesTable)
        gaps = gaps_of(request.table)
        if not len(gaps.x):
            return None
        request = request.at(Targets(gaps, "the times whose values are missing"))
    answer: pd.DataFrame = request.predict(quantiles=form.quantiles)
    answer.attrs.clear()  # warnings are counted, and stay out of the files
    return answer


def kind_of_warning(text: str) -> str:
    """Return what warnings of one kind have in common: all but the numbers.

    Example:
        >>> kind_of_warning("3 of 1,000 rows have no time.")
        '# of # rows have no time.'
    """
    return _NUMBER.sub("#", text)
