"""Peak memory, each case in a process of its own: `python -m benchmarks.memory CASE` prints it."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import torch

from benchmarks.plain import copy_weights, train_step
from benchmarks.timing import Finding
from convcnp import ConvCNP, Task, predict_in_tiles
from convcnp.core.heads import GaussianHead

POINTS_PER_UNIT = 12.5  # of long series, as dense as 50 points in the paper's range of 4
PLAIN_SHARE = 5  # the plain version gets a fifth of the batch, because the whole may not fit


def long_series(num_points: int) -> Task:
    """Draw a series whose domain grows with its length, asked for at as many points."""
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(2, num_points, 1, dtype=torch.float64, generator=generator)
    x *= num_points / POINTS_PER_UNIT
    return Task(x[:1], torch.sin(4 * x[:1]).float(), x[1:])


def predator_prey(batch_size: int) -> tuple[ConvCNP, Task]:
    """Build `convcnp` and a batch at the predator-prey setting: 90 units, two populations."""
    generator = torch.Generator().manual_seed(0)
    x = 90 * torch.rand(batch_size, 150, 1, dtype=torch.float64, generator=generator)
    y = torch.randn(batch_size, 150, 2, generator=generator)
    model = ConvCNP.small(dim_y=2, points_per_unit=100.0, head=GaussianHead(1e-3))
    return model, Task(x[:, :80], y[:, :80], x[:, 80:], y[:, 80:])


def _predict_million() -> None:
    predict_in_tiles(ConvCNP.small(), long_series(10**6))


def _train_package() -> None:
    from benchmarks.steps import package_step

    model, task = predator_prey(50)
    step = package_step(model)
    for _ in range(2):
        step(task)


def _train_plain() -> None:
    model, task = predator_prey(50 // PLAIN_SHARE)
    plain = copy_weights(model)
    optimizer = torch.optim.Adam(plain.parameters())
    for _ in range(2):
        train_step(plain, optimizer, task)


CASES = {"prediction": _predict_million, "training": _train_package, "plain": _train_plain}


def peak_gigabytes() -> float:
    """Return the most memory this process has had so far."""
    status = Path("/proc/self/status")
    if status.exists():
        # On Linux `ru_maxrss` survives exec: a child would begin with its parent's peak.
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) / 1e6 * 1.024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def measured(case: str, module: str = "benchmarks.memory") -> dict[str, float]:
    """Run a case in a fresh process and return its peak, and what it had before it began."""
    command = [sys.executable, "-m", module, case]
    root = Path(__file__).parents[1]
    output = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    return json.loads(output)


def memory(quick: bool) -> list[Finding]:
    """Measure peak memory of a million points predicted, and of a large training step."""
    prediction, training, plain = (measured(case) for case in CASES)
    scaled = plain["base"] + PLAIN_SHARE * (plain["peak"] - plain["base"])
    return [
        _finding("memory, predicting 10^6 points", prediction, 1.2),
        _finding("memory, predator-prey step", training, 1.5, {"plain GB, scaled up": scaled}),
    ]


def _finding(
    name: str, found: dict[str, float], most: float, parts: dict[str, float] | None = None
) -> Finding:
    parts = {"GB before": found["base"], **(parts or {})}
    rounded = {key: round(value, 2) for key, value in parts.items()}
    return Finding(name, found["peak"], "GB", most=most, parts=rounded)


if __name__ == "__main__":
    base = peak_gigabytes()
    CASES[sys.argv[1]]()
    print(json.dumps({"base": base, "peak": peak_gigabytes()}))
