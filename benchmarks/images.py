"""Training steps on images: time against torch's layers, time and memory against attention."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import torch

from benchmarks.attention import write_out_attention
from benchmarks.memory import measured, peak_gigabytes
from benchmarks.plain_images import copy_image_weights
from benchmarks.timing import Finding, interleaved, speed_up
from convcnp.core.image_task import ImageTask
from convcnp.models.attncnp import AttnCNP
from convcnp.models.base import Model
from convcnp.models.grid_convcnp import GridConvCNP
from convcnp.training.machine import flushing_denormals

LEAST = {"convcnp": 1.8, "convcnpxl": 4.0}  # the speed-up asked of each preset
PRESETS: dict[str, Callable[[], GridConvCNP]] = {
    "convcnp": GridConvCNP.small,
    "convcnpxl": GridConvCNP.xl,
}
SIZES = (32, 56, 64)
BATCH = 16


def image_batch(size: int, batch_size: int = BATCH) -> ImageTask:
    """Draw images of noise of which half the pixels are observed, the most that training draws."""
    generator = torch.Generator().manual_seed(0)
    pixels = torch.rand(batch_size, size, size, 1, generator=generator)
    order = torch.rand(batch_size, size * size, generator=generator).argsort(1).argsort(1)
    mask = (order < size * size // 2).unflatten(1, (size, size))
    return ImageTask(pixels, mask, pixels)


def image_steps(quick: bool) -> list[Finding]:
    """Compare training steps on 16 images of 32 x 32 with those of the plain version."""
    task = image_batch(32)
    findings = []
    for preset, build in PRESETS.items():
        torch.manual_seed(0)
        model = build()
        plain = copy_image_weights(model)
        ours = torch.optim.Adam(model.parameters(), lr=5e-4, fused=True)
        theirs = torch.optim.Adam(plain.parameters(), lr=5e-4)

        def package(_: int, model: Model = model, optimizer: torch.optim.Adam = ours) -> None:
            assert task.y_target is not None
            _step(optimizer, lambda: -model(task).log_likelihood(task.y_target).mean())

        def plainly(_: int, plain: torch.nn.Module = plain, optimizer: object = theirs) -> None:
            _step(optimizer, lambda: -plain(task).log_prob(task.y_target).mean())

        with flushing_denormals():
            times = interleaved({"package": package, "plain": plainly}, 3 if quick else 15, 1)
        name = f"step, images of 32 x 32, {preset}"
        findings.append(speed_up(name, times["package"], times["plain"], LEAST[preset]))
    return findings


def _step(optimizer: torch.optim.Adam, loss: Callable[[], torch.Tensor]) -> None:
    optimizer.zero_grad()
    loss().backward()
    optimizer.step()


CONTESTANTS: dict[str, Callable[[], Model]] = {
    "convcnpxl": GridConvCNP.xl,
    "attncnp": AttnCNP.for_images,
    "attncnp-written-out": lambda: write_out_attention(AttnCNP.for_images()),
}


def image_memory(quick: bool) -> list[Finding]:
    """Measure a training step of ConvCNPXL against AttnCNP, fused and written out.

    The paper names 945 MB against 5,839 MB at 32 x 32.
    """
    findings = []
    for size in SIZES[:1] if quick else SIZES:
        found = {name: _of_a_batch(name, size) for name in CONTESTANTS}
        for name in list(CONTESTANTS)[1:]:
            for i, (quantity, unit) in enumerate((("memory", "GB"), ("time", "s"))):
                values = {key: value[i] for key, value in found.items()}
                title = f"{quantity}, {size} px, {name} / convcnpxl"
                findings.append(_ratio(title, values, name, unit))
    return findings


def _of_a_batch(name: str, size: int) -> tuple[float, float]:
    """Return what a training step on a batch takes, in gigabytes and in seconds."""
    # Attention that is written out may not fit for large images. There, time is a multiple of that
    # of a smaller batch, and memory, of which a part is fixed, on the line through two.
    is_large = name == "attncnp-written-out" and size > 32
    batches = (2, 4) if is_large else (BATCH,)
    found = [measured(f"{name}-{size}-{batch}", "benchmarks.images") for batch in batches]
    gigabytes = [one["peak"] - one["base"] for one in found]
    missing = (BATCH - batches[-1]) / (batches[-1] - batches[0]) if is_large else 0.0
    return (
        gigabytes[-1] + missing * (gigabytes[-1] - gigabytes[0]),
        found[-1]["seconds"] * BATCH / batches[-1],
    )


def _ratio(title: str, values: dict[str, float], name: str, unit: str) -> Finding:
    parts: dict[str, float | str] = {
        f"{key} {unit}": round(values[key], 3) for key in (name, "convcnpxl")
    }
    return Finding(title, values[name] / values["convcnpxl"], "x", parts=parts)


def _train(name: str, size: int, batch_size: int) -> float:
    """Take two steps and return the processor time of the second."""
    torch.manual_seed(0)
    model, task = CONTESTANTS[name](), image_batch(size, batch_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, fused=True)
    assert task.y_target is not None
    for _ in range(2):
        started = time.process_time()
        _step(optimizer, lambda: -model(task).log_likelihood(task.y_target).mean())
    return time.process_time() - started


if __name__ == "__main__":
    contestant, pixels, images = sys.argv[1].rsplit("-", 2)
    base = peak_gigabytes()
    seconds = _train(contestant, int(pixels), int(images))
    print(json.dumps({"base": base, "peak": peak_gigabytes(), "seconds": seconds}))
