"""Ray as the engine of a job."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Sequence
from typing import Any

from convcnp.errors import ProcessError
from convcnp.extras import import_extra
from convcnp.scale.pool import Engine
from convcnp.scale.worker import Report, Worker, call


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
    if ray.is_initialized():
        return ray
    own = {} if address else {"num_cpus": workers, "include_dashboard": False}
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **own)
    except Exception as error:  # of any kind: Ray raises plain ones as well
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


def _first_line(error: Exception) -> str:
    with contextlib.suppress(IndexError):
        return str(error).strip().splitlines()[0].rstrip(".")
    return type(error).__name__
