"""Many clients at once on the app's server: `make load` writes results/load.json.

Times are told as multiples of the bare model call, measured in the same run.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from convcnp.core.task import Task
from convcnp.predict.zoo import load
from convcnp.storage import write_atomically
from convcnp.training.provenance import commit, hardware, versions

MODEL = "eq-convcnp-ours"  # the playground's first
POINTS, PLACES = 50, 400


def question(seed: int) -> dict[str, Any]:
    """Return a question of the playground."""
    generator = np.random.default_rng(seed)
    x = generator.uniform(-2, 2, POINTS)
    points = np.stack([x, np.sin(3 * x) + 0.1 * generator.standard_normal(POINTS)], 1)
    return {"points": points.tolist(), "low": -6, "high": 6, "places": PLACES, "models": [MODEL]}


def bare_call() -> Callable[[], float]:
    """Return what calls the model alone, and says how long it took."""
    model = load(MODEL).model
    points = np.array(question(0)["points"])
    task = Task.from_arrays(points[:, 0], points[:, 1], np.linspace(-6, 6, PLACES))

    @torch.inference_mode()
    def call() -> float:
        start = time.perf_counter()
        model(task)
        return time.perf_counter() - start

    return call


def side_by_side(host: str, cookie: str, repeats: int) -> tuple[float, float]:
    """Return the median times of the bare call and of a question, asked in turns.

    In turns, because whatever else the machine does then slows both alike.
    """
    call, bare, alone = bare_call(), [], []
    for seed in range(repeats + 10):
        bare.append(call())
        alone += asked(host, cookie, range(seed, seed + 1))
    return statistics.median(bare[10:]), statistics.median(alone[10:])


@contextmanager
def server() -> Iterator[tuple[str, str, int]]:
    """Run the command; yield its host, the cookie of a browser that came in, and its process."""
    command = [sys.executable, "-m", "convcnp", "app", "--no-open", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            found = re.search(r"http://(\S+?)(/\S+)", process.stderr.readline())
            assert found is not None
            with closing(http.client.HTTPConnection(found[1])) as connection:
                connection.request("GET", found[2])
                cookie = connection.getresponse().headers["set-cookie"].partition(";")[0]
            yield found[1], cookie, process.pid
        finally:
            process.terminate()


def asked(host: str, cookie: str, seeds: range) -> list[float]:
    """Ask one question after the other on one connection; return how long each took."""
    times = []
    headers = {"Cookie": cookie, "Content-Type": "application/json"}
    with closing(http.client.HTTPConnection(host, timeout=120)) as connection:
        for seed in seeds:
            body = json.dumps(question(seed))
            start = time.perf_counter()
            connection.request("POST", "/api/playground", body, headers)
            answer = connection.getresponse()
            content = answer.read()
            times.append(time.perf_counter() - start)
            if answer.status != 200:
                raise RuntimeError(f"{answer.status}: {content[:200]!r}")
    return times


def resident(process: int) -> float:
    """Return the memory of a process in MB."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def under_load(host: str, cookie: str, requests: int, clients: int) -> tuple[list[float], int]:
    """Let clients ask at once; return all times, and how many clients failed."""
    times: list[float] = []
    errors: list[BaseException] = []

    def one(number: int) -> None:
        try:
            times.extend(asked(host, cookie, range(number, requests, clients)))
        except Exception as error:  # counted, and said
            errors.append(error)
            print(error)

    threads = [threading.Thread(target=one, args=[i]) for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times, len(errors)


def measured(requests: int, clients: int) -> dict[str, Any]:
    """Measure the server alone and under load."""
    with server() as (host, cookie, process):
        bare, alone = side_by_side(host, cookie, 300)
        under_load(host, cookie, requests // 10, clients)
        before = resident(process)
        times, failed = under_load(host, cookie, requests, clients)
        after = resident(process)
    multiples = np.array(times) / bare
    return {
        "name": "load",
        "model": MODEL,
        "points": POINTS,
        "places": PLACES,
        "requests": len(times),
        "clients": clients,
        "failed_clients": failed,
        "bare_milliseconds": 1e3 * bare,
        "alone": alone / bare,
        "median": float(np.median(multiples)),
        "percentile_99": float(np.percentile(multiples, 99)),
        "memory_megabytes": {"after a tenth": before, "after all": after},
        "hardware": hardware(),
        "versions": versions(),
        "commit": commit(),
    }


def main() -> None:
    """Measure, write and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=32)
    arguments = parser.parse_args()
    found = measured(arguments.requests, arguments.clients)
    write_atomically(arguments.out, (json.dumps(found, indent=2) + "\n").encode())
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
