"""Networks along a line against the same on images (decision 34), and on a tape (decision 45)."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import torch
from torch import Tensor

from benchmarks.steps import build
from benchmarks.timing import Contestant, Finding, Times, interleaved
from convcnp.core import tape
from convcnp.core.allocation import keep_freed_memory
from convcnp.core.cnn import SimpleCNN, UNet
from convcnp.core.grid import Field
from convcnp.core.line import Line
from convcnp.training.machine import flushing_denormals

CELLS, BATCH = 384, 16

Way = Callable[[], Field]


def lines(quick: bool) -> list[Finding]:
    """Compare both ways of every network: with gradients on 16 tasks, and predicting one."""
    repetitions = 10 if quick else 200
    findings = []
    keep_freed_memory()
    for preset in ("convcnp", "convcnpxl", "convcnp-ours"):
        cnn = build(preset).cnn
        assert isinstance(cnn, SimpleCNN | UNet)
        for name, batch, work in (("gradients", BATCH, _learnt), ("one prediction", 1, _predicted)):
            with flushing_denormals():
                times = interleaved(_ways(cnn, batch, work), repetitions)
            findings.append(_finding(f"network, {preset}, {name}", times))
    return findings


def _ways(
    cnn: SimpleCNN | UNet, batch: int, work: Callable[[Way], object]
) -> dict[str, Contestant]:
    values = torch.randn(batch, CELLS, cnn.channels_in, generator=torch.Generator().manual_seed(0))
    field = Field(values, values[0, 0].clone())

    def on_images() -> Field:
        h, beyond = cnn.layers_forward(field.values[:, None].movedim(-1, 1), field.beyond)
        return Field(h.movedim(1, -1)[:, 0], beyond)

    def on_a_line() -> Field:
        return cnn.along(Line.of(field)).field()

    ways: dict[str, Contestant] = {
        "image": lambda _: work(on_images),
        "line": lambda _: work(on_a_line),
    }
    if work is _learnt:
        ways["tape"] = lambda _: work(lambda: tape.applied(cnn.along, field, cnn.parameters()))
    return ways


def _learnt(way: Way) -> None:
    values, beyond = way()
    (values.sum() + beyond.sum()).backward()


@torch.inference_mode()
def _predicted(way: Way) -> Tensor:
    return way().values


def _finding(name: str, times: dict[str, Times]) -> Finding:
    taken = {way: 1e3 * median(found.cpu) for way, found in times.items()}
    parts: dict[str, float | str] = {f"{way} ms": round(ms, 2) for way, ms in taken.items()}
    return Finding(name, taken["image"] / taken["line"], "x", parts=parts)
