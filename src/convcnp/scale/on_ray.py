"""Ray as the engine of a job."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from convcnp.errors import ProcessError
from convcnp.extras import import_extra
from convcnp.scale.pool import Engine
from convcnp.scale.worker import Report, Worker, call

_STORE = 10**8  # bytes that Ray keeps for objects: files carry the rows, calls only numbers
_SECONDS = 10  # that an address may take to answer


def on_ray(workers: int | None = None, address: str | None = None) -> Engine:
    """Return the engine of actors on a Ray cluster, which load the model once and stay.

    An actor that is lost is started again, and what it was doing is done again.

    Args:
        workers: Actors, a core each; as many as the cluster has cores if left out.
        address: Of a cluster that runs; one of this machine is started if left out.

    Example::

        predict_files("lake/*.parquet", Path("filled"), engine=on_ray(8, "10.0.0.1:6379"))
    """
    if address is not None:
        connect(workers, address)  # before anything is written
    return _OnRay(workers, address)


@dataclass
class _OnRay:
    """Actors, and the worker whose copies they have."""

    workers: int | None
    address: str | None
    worker: Worker | None = None
    actors: list[Any] = field(default_factory=list)

    def __call__(
        self, worker: Worker, method: str, numbers: Sequence[int]
    ) -> Iterator[tuple[int, Report]]:
        ray = connect(self.workers, self.address)
        if self.worker is not worker:
            count = self.workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
            remote = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(_Actor)
            self.actors.clear()  # Ray ends those that nobody holds
            self.actors.extend(remote.remote(worker) for _ in range(count))
            self.worker = worker
        try:
            yield from _given_out(ray, self.actors, method, list(numbers))
        except (ray.exceptions.RayError, RuntimeError) as error:
            raise ProcessError(
                f"Expected Ray to go on, but it failed ({_first_line(error)}); the same command "
                "with resume=True goes on."
            ) from error


def _given_out(
    ray: Any,  # noqa: ANN401
    actors: Sequence[Any],
    method: str,
    numbers: list[int],
) -> Iterator[tuple[int, Report]]:
    """Give every actor a number, and the next to the one that is done.

    An actor gets its first once it is there: the cluster may have fewer free cores than actors.
    """
    starting = {actor.process.remote(): actor for actor in actors}
    waiting: dict[Any, tuple[int, Any]] = {}
    while numbers or waiting:
        for done in ray.wait([*waiting, *starting])[0]:
            if done in starting:
                actor = starting.pop(done)
            else:
                number, actor = waiting.pop(done)
                yield number, ray.get(done)
            if numbers:
                number = numbers.pop(0)
                waiting[actor.call.remote(method, number)] = (number, actor)


def connect(workers: int | None = None, address: str | None = None) -> Any:  # noqa: ANN401 - Ray
    """Return Ray, connected to a cluster, or to one of this machine that is started for it."""
    ray = import_extra("ray", "ray")
    # Ray's workers yield to all other work, and on a busy machine come to a stop.
    os.environ.setdefault("RAY_worker_niceness", "0")
    own = {"num_cpus": workers, "include_dashboard": False, "object_store_memory": _STORE}
    try:
        _knock(address)
        if ray.is_initialized():
            return ray
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level=logging.ERROR,
            **({} if address else own),
        )
    except (Exception, SystemExit) as error:  # of any kind: Ray even ends the process
        raise ProcessError(
            f"Expected a Ray cluster at {address or 'this machine'}, but there is none that "
            f"answers ({_first_line(error)}); check the address, or leave it out to start one here."
        ) from error
    return ray


def _knock(address: str | None) -> None:
    """Fail where nobody listens: Ray would wait for minutes, and then end the process."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), _SECONDS).close()


class _Actor:
    """A worker that stays, with its model."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    def process(self) -> int:
        """Return the process's number, once there is one."""
        return os.getpid()

    def call(self, method: str, number: int) -> Report:
        return call(self.worker, method, number)


def _first_line(error: BaseException) -> str:
    with contextlib.suppress(IndexError):
        return str(error).strip().splitlines()[0].rstrip(".")
    return type(error).__name__
