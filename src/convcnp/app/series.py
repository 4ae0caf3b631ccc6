"""Series of an uploaded table: understood once, predicted where a chart looks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from convcnp.app.questions import (
    LEVELS,
    Band,
    Curve,
    CurveQuestion,
    Gap,
    Observed,
    SeriesQuestion,
    Understanding,
    ViewQuestion,
)
from convcnp.app.uploads import warnings_heard
from convcnp.app.words import command
from convcnp.errors import SettingError
from convcnp.frames.columns import Columns
from convcnp.frames.gaps import gaps_of, usual_steps
from convcnp.frames.series import Ragged, SeriesTable
from convcnp.frames.targets import Targets, series_targets
from convcnp.frames.time_axis import TimeAxis
from convcnp.plots.series import draw_series
from convcnp.predict.answers import quantile_name, rounded
from convcnp.predict.batches import Progress
from convcnp.predict.predictor import Predictor
from convcnp.predict.request import SeriesRequest

_LABELS = 1000  # series that a menu lists
_SHOWN = 20_000  # observations that a chart shows
_GAPS = 500  # that a page lists
_UNDERSTOOD = 4  # readings of a table that are kept


@dataclass
class Upload:
    """A page's table, with what was made of it.

    Args:
        name: Of the file, for words only: it is not opened again.
    """

    name: str
    frame: pd.DataFrame
    understood: dict[tuple[Any, ...], SeriesRequest] = field(default_factory=dict)

    def request(self, question: SeriesQuestion, predictor: Predictor) -> SeriesRequest:
        """Understand the table as the command does, and ask it for what the question asks."""
        columns = named_columns(question)
        key = (predictor.name, columns)
        if key not in self.understood:
            predictor.check_takes_tables()
            request = predictor.request(self.frame, columns=columns)
            if not isinstance(request, SeriesRequest):
                raise SettingError(
                    f"Expected a model of series, got {predictor.name!r}, which is one of points "
                    "in the plane; choose another."
                )
            while len(self.understood) >= _UNDERSTOOD:
                self.understood.pop(next(iter(self.understood)))
            self.understood[key] = request
        request = self.understood[key]
        if not question.ahead:
            return request
        targets = series_targets(request.table, f"+{question.ahead}")
        return replace(request, targets=targets)


def named_columns(question: SeriesQuestion) -> Columns:
    """Return the columns that a question names."""
    return Columns.named(time=question.time, value=question.values or None, group=question.group)


# --- Words ----------------------------------------------------------------------------------------


def understand(upload: Upload, question: ViewQuestion, predictor: Predictor) -> Understanding:
    """Say what was understood of a table, and give what a chart shows before any prediction."""
    with warnings_heard() as heard:
        request = upload.request(question, predictor)
        remarks = request.remarks
    table, number = request.table, _number(request.table, question.series)
    x = _shown(table.axis, table.series.x[table.series.rows(number)])
    step = float(usual_steps(table.series)[number])
    return Understanding(
        description=request.description,
        remarks=remarks,
        warnings=heard,
        time=table.time,
        values=list(table.columns.values),
        group=table.columns.group,
        labels=[] if table.labels is None else [str(label) for label in table.labels[:_LABELS]],
        axis={"M": "date", "m": "duration"}.get(table.axis.dtype.kind, "number"),
        span=(x[0], x[-1]),
        step=None if np.isnan(step) else step,
        observed=_observed(table, number),
        gaps=_gaps(table, number),
        command=as_command(upload.name, question),
        python=as_python(upload.name, question),
    )


def _number(table: SeriesTable, number: int) -> int:
    if number >= len(table.series):
        raise SettingError(
            f"Expected one of the {len(table.series):,} series, counted from 0, got {number:,}; "
            "choose another."
        )
    return number


def _shown(axis: TimeAxis, x: np.ndarray) -> np.ndarray:
    """Return times as a chart counts them: dates in seconds since 1970, of UTC or of no zone."""
    if axis.dtype.kind == "M":
        return x + axis.origin.timestamp()
    return x if axis.origin is None or axis.dtype.kind == "m" else x + float(axis.origin)


def _offset(axis: TimeAxis) -> float:
    return float(_shown(axis, np.zeros(1))[0])


def _observed(table: SeriesTable, number: int) -> Observed:
    rows = table.series.rows(number)
    every = -(-(rows.stop - rows.start) // _SHOWN)
    x, y = table.series.x[rows][::every], table.y[rows][::every]
    values = {name: _numbers(y[:, i]) for i, name in enumerate(table.columns.values)}
    return Observed(x=_shown(table.axis, x).tolist(), values=values)


def _gaps(table: SeriesTable, number: int) -> list[Gap]:
    """List the gaps of a series: missing times between which nothing was observed, together."""
    missing = gaps_of(table)
    x = missing.x[missing.rows(number)]
    if not len(x):
        return []
    rows = table.series.rows(number)
    seen = table.series.x[rows][~np.isnan(table.y[rows]).any(1)]
    place = np.searchsorted(seen, x)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(place)) + 1])
    counts = np.diff(starts, append=len(x))
    longest = np.argsort(-counts, kind="stable")[:_GAPS]
    return [
        _gap(table.axis, seen, int(place[start]), x[start : start + count])
        for start, count in zip(starts[longest], counts[longest], strict=True)
    ]


def _gap(axis: TimeAxis, seen: np.ndarray, place: int, missing: np.ndarray) -> Gap:
    """Describe missing times, at their place among those that were seen."""
    start = seen[place - 1] if place else missing[0]
    end = seen[place] if place < len(seen) else missing[-1]
    first, last = map(str, axis.times(missing[[0, -1]]))
    text = first if len(missing) == 1 else f"{first} to {last}"
    shown = _shown(axis, np.array([start, end]))
    return Gap(start=shown[0], end=shown[1], text=_plain(text), missing=len(missing))


def _plain(text: str) -> str:
    """Leave out midnights, where dates have nothing but them."""
    return text.replace(" 00:00:00", "")


def _options(question: SeriesQuestion) -> dict[str, Any]:
    """Return what a question says beyond the table, by the command's words."""
    given = {
        "time": question.time,
        "value": question.values or None,
        "group": question.group,
        "model": question.model,
        "ahead": question.ahead or None,
        "samples": question.samples or None,
        "seed": question.seed or None,
    }
    return {name: value for name, value in given.items() if value is not None}


def as_command(name: str, question: SeriesQuestion) -> str:
    """Return the command that answers the same question.

    Example:
        >>> as_command("my level.csv", SeriesQuestion(table="x", time="day", ahead=7))
        "convcnp predict 'my level.csv' --time day --model general --ahead 7 --quantiles \
0.05,0.25,0.75,0.95"
    """
    levels = ",".join(map(str, LEVELS))
    return command("predict", name, _options(question) | {"quantiles": levels})


def as_python(name: str, question: SeriesQuestion) -> str:
    """Return the lines of Python that answer the same question."""
    options = _options(question)
    model = options.pop("model")
    ahead = options.pop("ahead", None)
    arguments = [] if ahead is None else [f'at="+{ahead}"']
    arguments += [f"quantiles={list(LEVELS)}"]
    arguments += [f"{option}={value!r}" for option, value in options.items()]
    return "\n".join(
        [
            "import convcnp",
            "from convcnp.frames import read_table",
            "",
            f"table = read_table({name!r}).frame",
            f"answer = convcnp.load({model!r}).predict(table, {', '.join(arguments)})",
            "",
        ]
    )


# --- Numbers --------------------------------------------------------------------------------------


def curve(
    upload: Upload, question: CurveQuestion, predictor: Predictor, progress: Progress
) -> Curve:
    """Predict one series along the part of it that a chart shows."""
    with warnings_heard() as heard:
        request = upload.request(question, predictor)
        table = request.table
        number = _number(table, question.series)
        x = _places(request, question, number)
        starts = np.zeros(len(table.series) + 1, dtype=np.int64)
        starts[number + 1 :] = len(x)
        looked_at = replace(request, targets=Targets(Ragged(x, starts), "the times of a chart"))
        answer = looked_at.answer(
            LEVELS, samples=question.samples, seed=question.seed, progress=progress
        )
    bands = [_band(answer, name, question.samples) for name in table.columns.values]
    return Curve(x=_shown(table.axis, x).tolist(), bands=bands, warnings=heard)


def _places(request: SeriesRequest, question: CurveQuestion, number: int) -> np.ndarray:
    table, asked = request.table, request.targets.inputs
    rows = table.series.rows(number)
    ends = np.concatenate([table.series.x[rows], asked.x[asked.rows(number)]])
    offset = _offset(table.axis)
    low = ends.min() if question.low is None else question.low - offset
    high = ends.max() if question.high is None else question.high - offset
    if not low < high:
        low, high = low - 1.0, low + 1.0
    return np.linspace(low, high, question.places)


def _band(answer: pd.DataFrame, name: str, samples: int) -> Band:
    parts = {level: quantile_name(level) for level in LEVELS}
    edges = {part: _numbers(answer[f"{name}_{part}"].to_numpy()) for part in parts.values()}
    curves = [_numbers(answer[f"{name}_sample{i + 1}"].to_numpy()) for i in range(samples)]
    return Band(
        name=name, mean=_numbers(answer[f"{name}_mean"].to_numpy()), samples=curves, **edges
    )


def _numbers(values: np.ndarray) -> list[float | None]:
    found: list[float | None] = values.tolist()  # what is no number becomes null on its way
    return found


def answer_csv(
    upload: Upload, question: SeriesQuestion, predictor: Predictor, progress: Progress
) -> str:
    """Return the table that the command would write."""
    with warnings_heard():
        request = upload.request(question, predictor)
        answer = _answer(request, question, progress)
    return rounded(answer, request.columns.values).to_csv(index=False)


def picture(
    upload: Upload, question: SeriesQuestion, predictor: Predictor, progress: Progress
) -> bytes:
    """Return the picture that the command would draw, as PNG."""
    with warnings_heard():
        request = upload.request(question, predictor)
        return draw_series(request, _answer(request, question, progress), most_pages=1)[0]


def _answer(request: SeriesRequest, question: SeriesQuestion, progress: Progress) -> pd.DataFrame:
    return request.answer(LEVELS, samples=question.samples, seed=question.seed, progress=progress)
