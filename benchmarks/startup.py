"""How long the package and its commands take to start, in times of `import torch`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.timing import Contestant, Finding, interleaved

# The most that each may take, in times of `python -c "import torch"`.
MOST = {
    "import convcnp": 0.1,
    "convcnp --help": 0.3,
    "convcnp models": 0.4,
    "convcnp predict": 2.5,
}
_SERIES = "t,v\n" + "".join(f"{i},{i % 7}\n" for i in range(60) if i not in (20, 21, 22))


def startup(quick: bool) -> list[Finding]:
    """Start processes in turn; every one begins with nothing imported."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "series.csv")
        table.write_text(_SERIES)
        out = Path(folder, "answer.csv")
        commands = {
            "import torch": ["-c", "import torch"],
            "import convcnp": ["-c", "import convcnp"],
            "convcnp --help": ["-m", "convcnp", "--help"],
            "convcnp models": ["-m", "convcnp", "models"],
            "convcnp predict": ["-m", "convcnp", "predict", str(table), "--out", str(out)],
        }
        contestants: dict[str, Contestant] = {
            name: _process(arguments) for name, arguments in commands.items()
        }
        times = interleaved(contestants, 2 if quick else 9, warmup=1)
    unit = times["import torch"].milliseconds
    return [
        Finding(
            f"startup, {name}",
            times[name].milliseconds / unit,
            "x import torch",
            most=most,
            parts={
                "ms": round(times[name].milliseconds),
                "import torch ms": round(unit),
                "least ratio": round(min(times[name].wall) / min(times["import torch"].wall), 2),
                "paired ratio": round(_paired(times[name].wall, times["import torch"].wall), 2),
            },
        )
        for name, most in MOST.items()
    ]


def _process(arguments: list[str]) -> Callable[[int], object]:
    command = [sys.executable, *arguments]
    return lambda i: subprocess.run(command, capture_output=True, check=True)


def _paired(ours: list[float], theirs: list[float]) -> float:
    return median(a / b for a, b in zip(ours, theirs, strict=True))
