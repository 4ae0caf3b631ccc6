"""Ray as the engine of a job, and predictions from a Ray Dataset to another."""

from __future__ import annotations

import contextlib
import logging
import math
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import pandas as pd

from convcnp.errors import ProcessError, TableError
from convcnp.extras import import_extra
from convcnp.frames.columns import ColumnNames, Columns
from convcnp.predict.answers import QUANTILES
from convcnp.predict.zoo import load
from convcnp.scale.bucket import answer_bucket
from convcnp.scale.form import Asked, Form
from convcnp.scale.parts import bucket_of
from convcnp.scale.pool import Engine
from convcnp.scale.worker import Report, Worker, call

if TYPE_CHECKING:
    from ray.data import Dataset

_BUCKET, ERROR = "__bucket__", "error"
_ROWS = 200_000  # of a bucket, about
_SAMPLE = 10_000  # rows that columns are chosen from


def on_ray(workers: int | None = None, address: str | None = None) -> Engine:
    """Return the engine of actors on a Ray cluster, which load the model once and stay.

    An actor that is lost is started again, and what it was doing is done again.

    Args:
        workers: Actors, a core each; as many as the cluster has cores if left out.
        address: Of a cluster that runs; one of this machine is started if left out.
    """
    actors: list[Any] = []

    def run(worker: Worker, method: str, numbers: Sequence[int]) -> Iterator[tuple[int, Report]]:
        ray = connect(workers, address)
        if not actors:
            remote = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(_Actor)
            actors.extend(remote.remote(worker) for _ in range(num_actors(ray, workers)))
        try:
            yield from _given_out(ray, actors, method, list(numbers))
        except (ray.exceptions.RayError, RuntimeError) as error:
            raise ProcessError(
                f"Expected Ray to go on, but it failed ({_first_line(error)}); the same command "
                "with resume=True goes on."
            ) from error

    return run


def num_actors(ray: Any, workers: int | None) -> int:  # noqa: ANN401 - Ray
    """Return how many actors are asked for, or have a core each."""
    return workers or max(1, int(ray.cluster_resources().get("CPU", 1)))


def _given_out(
    ray: Any,  # noqa: ANN401
    actors: Sequence[Any],
    method: str,
    numbers: list[int],
) -> Iterator[tuple[int, Report]]:
    """Give every actor a number, and the next to the one that is done."""
    waiting: dict[Any, tuple[int, Any]] = {}
    idle = list(actors)
    while numbers or waiting:
        while numbers and idle:
            actor, number = idle.pop(), numbers.pop(0)
            waiting[actor.call.remote(method, number)] = (number, actor)
        for done in ray.wait(list(waiting))[0]:
            number, actor = waiting.pop(done)
            idle.append(actor)
            yield number, ray.get(done)


def connect(workers: int | None = None, address: str | None = None) -> Any:  # noqa: ANN401 - Ray
    """Return Ray, connected to a cluster, or to one of this machine that is started for it."""
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # we say what fails
    ray = import_extra("ray", "ray")
    import_extra("ray.data", "ray")
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False  # we have our own
    context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    if ray.is_initialized():
        return ray
    own = {} if address else {"num_cpus": workers, "include_dashboard": False}
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **own)
    except (ConnectionError, RuntimeError, ValueError, OSError, TimeoutError) as error:
        raise ProcessError(
            f"Expected a Ray cluster at {address or 'this machine'}, but there is none that "
            f"answers ({_first_line(error)}); check the address, or leave it out to start one here."
        ) from error
    return ray


class _Actor:
    """A worker that stays, with its model."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    def call(self, method: str, number: int) -> Report:
        return call(self.worker, method, number)


def predict(
    dataset: Dataset,
    model: str = "general",
    at: str | None = None,
    *,
    quantiles: Sequence[float] = QUANTILES,
    workers: int | None = None,
    **names: Unpack[ColumnNames],
) -> Dataset:
    """Predict the series of a Ray Dataset, and return their answers as another.

    Rows of a series may lie in any block: they are brought together, and actors that load the model
    once predict many series at a time.

    Args:
        dataset: A long table: a group column, which tells series apart, a time, and values.
        at: gaps, a number of times, START:STOP:STEP, or + and how far ahead; the gaps by default.
        workers: Actors, a core each; as many as the cluster has cores if left out.
        names: Columns, as for `Predictor.predict`.

    Returns:
        A Dataset with the columns of `Predictor.predict`, and `error`: a sentence in the only row
        of a series that could not be predicted, and empty in all others.

    Example::

        lake = ray.data.read_parquet("s3://lake/series")
        convcnp.scale.predict(lake, group="station").write_parquet("s3://lake/filled")
    """
    ray = connect(workers)
    sample = dataset.limit(_SAMPLE).to_pandas()
    if sample.empty:
        raise TableError("Expected rows in the dataset, but there are none; check what it reads.")
    asked = Asked(model, Columns.named(**names), at, quantiles)
    form = Form.of(load(model), asked, sample, "the dataset")
    buckets = max(1, math.ceil(dataset.count() / _ROWS))
    actors = num_actors(ray, workers)
    return (
        dataset.map_batches(lambda frame: _with_bucket(frame, form, buckets), batch_format="pandas")
        .groupby(_BUCKET, num_partitions=buckets)
        .map_groups(
            _Group,
            fn_constructor_args=(form,),
            batch_format="pandas",
            concurrency=actors,
        )
    )


def _with_bucket(frame: pd.DataFrame, form: Form, buckets: int) -> pd.DataFrame:
    needed = form.needed(frame.reset_index(drop=True), "a block")
    needed = needed[needed[form.group].notna()]
    return needed.assign(**{_BUCKET: bucket_of(needed[form.group], buckets)})


class _Group:
    """Predicts the series of one bucket after the other."""

    def __init__(self, form: Form) -> None:
        self.form, self.predictor = form, form.predictor()

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        found = answer_bucket(self.predictor, self.form, frame.drop(columns=_BUCKET), 10**9)
        failed = pd.DataFrame(found.errors, columns=[self.form.group, ERROR])
        parts = [
            part for part in (found.answer, failed if len(failed) else None) if part is not None
        ]
        whole = pd.concat(parts, ignore_index=True) if parts else failed
        return whole.assign(**{ERROR: whole.get(ERROR, pd.Series(dtype="string")).astype("string")})


def _first_line(error: Exception) -> str:
    with contextlib.suppress(IndexError):
        return str(error).strip().splitlines()[0].rstrip(".")
    return type(error).__name__
