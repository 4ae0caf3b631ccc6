"""Predictions for a Ray Dataset, by actors, as another Dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import numpy as np
import pandas as pd
import torch

from convcnp.errors import TableError, check_positive
from convcnp.extras import import_extra
from convcnp.predict.answers import QUANTILES, quantile_name
from convcnp.predict.predictor import Known, read_known
from convcnp.predict.zoo import load
from convcnp.scale.bucket import answer_bucket
from convcnp.scale.form import Asked, Form
from convcnp.scale.job import MEMORY, SAMPLE, most_rows
from convcnp.scale.parts import bucket_of

if TYPE_CHECKING:
    from ray.data import Dataset

ERROR = "error"  # the column of sentences
_BUCKET = "__bucket__"
_THE_DATASET = "the dataset"  # in sentences


def predict(
    dataset: Dataset,
    at: str | None = None,
    *,
    model: str = "general",
    quantiles: Sequence[float] = QUANTILES,
    workers: int | None = None,
    buckets: int = 64,
    memory: int = MEMORY,
    **known: Unpack[Known],
) -> Dataset:
    """Predict the series of a Ray Dataset, wherever their rows lie, without a file.

    Rows are brought together by a hash of their series. Actors load the model once and predict the
    series of a bucket together. Nothing is computed before the answer is used, except that columns
    are chosen from the first rows. Numbers are those of `Predictor.predict`.

    Args:
        dataset: A long table with a column that tells series apart.
        at: "gaps", a number of times as text, "START:STOP:STEP", or "+" and how far ahead; the gaps
            by default.
        workers: Actors, a core each; as many as Ray finds useful if left out.
        buckets: Into which series are divided; the rows of one must fit into an actor.
        memory: Bytes that a prediction may use, about; a series that needs more is an error.
        known: Columns and bounds, as for `Predictor.predict`.

    Returns:
        A Dataset with the columns of `Predictor.predict`, in no order, and a column `error`: a
        series that cannot be predicted is one row, with a sentence there and nothing else.

    Example::

        answers = convcnp.scale.predict(ray.data.read_parquet("lake"), model="general", group="id")
        answers.write_parquet("filled")
    """
    check_positive("buckets", buckets)
    data = import_extra("ray.data", "ray")
    columns, limits = read_known(**known)
    asked = Asked(model, columns, at, quantiles, limits)
    predictor, first = load(model), dataset.limit(SAMPLE).to_pandas()
    if first.empty:
        raise TableError("Expected a dataset with rows, got none; check where it is read from.")
    form = Form.of(predictor, asked, first, _THE_DATASET)
    shape = _Shape(form, buckets, most_rows(form, memory))
    pool = data.ActorPoolStrategy(size=workers) if workers else data.ActorPoolStrategy(min_size=1)
    return (
        dataset.map_batches(shape.with_bucket, batch_format="pandas")
        .groupby(_BUCKET, num_partitions=buckets)
        .map_groups(_Actor, batch_format="pandas", fn_constructor_args=(shape,), compute=pool)
    )


@dataclass(frozen=True)
class _Shape:
    """What comes in and what goes out."""

    form: Form
    buckets: int
    most_rows: int

    @property
    def columns(self) -> list[str]:
        """Names of what goes out."""
        kinds = ["mean", "std", *map(quantile_name, self.form.quantiles)]
        answers = [f"{name}_{kind}" for name in self.form.columns.values for kind in kinds]
        return [self.form.group, self.form.time, *answers, ERROR]

    def none(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return no answers, in columns of the types that answers have."""
        numbers = dict.fromkeys(self.columns[2:-1], np.zeros(0))
        times = self.form.axis.times(np.zeros(0))
        group = rows[self.form.group].head(0).reset_index(drop=True)
        return pd.DataFrame({self.form.group: group, self.form.time: times, **numbers})

    def with_bucket(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns that are needed, and the bucket of every row that has a series."""
        frame = self.form.needed(frame, _THE_DATASET)
        frame = frame[frame[self.form.group].notna()]
        return frame.assign(**{_BUCKET: bucket_of(frame[self.form.group], self.buckets)})


class _Actor:
    """A worker that stays, with its model."""

    def __init__(self, shape: _Shape) -> None:
        torch.set_num_threads(1)
        self.shape, self.predictor = shape, shape.form.predictor()

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Predict the series of a bucket; those that fail are rows of their own."""
        form = self.shape.form
        rows = frame.drop(columns=_BUCKET)
        found = answer_bucket(self.predictor, form, rows, self.shape.most_rows)
        answer = self.shape.none(rows) if found.answer is None else found.answer
        if found.errors:
            failed = pd.DataFrame(found.errors, columns=[form.group, ERROR])
            answer = pd.concat([answer, failed], ignore_index=True)
        return answer.reindex(columns=self.shape.columns).astype({ERROR: "string"})
