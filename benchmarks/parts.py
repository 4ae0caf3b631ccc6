"""Where the processor time of a training step goes, part by part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import median

import torch
from torch import Tensor
from torch.optim.swa_utils import get_ema_multi_avg_fn

from benchmarks.steps import build, draw
from benchmarks.timing import Finding, Times
from convcnp import Task
from convcnp.core.allocation import keep_freed_memory
from convcnp.core.grid import Field
from convcnp.models.convcnp import ConvCNP
from convcnp.training.clipping import clip
from convcnp.training.machine import flushing_denormals

PRESETS = ("convcnp", "convcnpxl", "convcnp-ours")


def parts(quick: bool) -> list[Finding]:
    """Take steps by hand, part by part; what the loop adds to them is measured by `overhead`."""
    num_steps, warmup = (20, 5) if quick else (300, 20)
    return [part_times(preset, num_steps, warmup) for preset in PRESETS]


def part_times(preset: str, num_steps: int, warmup: int) -> Finding:
    """Return the median time of every part, and their sum."""
    step = _StepInParts(build(preset))
    keep_freed_memory()
    with flushing_denormals():
        for number in range(warmup + num_steps):
            step(number)
    found = {name: 1e3 * median(times.cpu[-num_steps:]) for name, times in step.times.items()}
    rounded = {name: round(milliseconds, 2) for name, milliseconds in found.items()}
    return Finding(f"parts of a step, {preset}", sum(found.values()), "ms", parts=rounded)


class _StepInParts:
    """A training step whose graph is cut, so that every part has a time of its own."""

    def __init__(self, model: ConvCNP) -> None:
        self.model = model
        self.weights = list(model.parameters())
        self.average = [weight.detach().clone() for weight in self.weights]
        self.optimizer = torch.optim.Adam(self.weights, lr=3e-4, weight_decay=1e-5, fused=True)
        self.times: defaultdict[str, Times] = defaultdict(Times)
        self._cuts: list[tuple[str, list[Tensor], list[Tensor]]] = []

    def __call__(self, number: int) -> None:
        model = self.model
        with self.times["drawing"].measure():
            task = draw(number)
        with self.times["grid"].measure():
            grid = model.covering_grid(task)
        encoded = self._part("encoder", lambda: [model.encoded(task, grid)])
        field = self._part("network", self._network, *encoded)
        raw = self._part(
            "decoder", lambda *field: [model.decoder(Field(*field), task.x_target, grid)], *field
        )
        loss = self._part("loss", lambda raw: [self._loss(raw, task)], *raw)
        self._backward(loss)
        with self.times["clipping"].measure():
            clip(self.weights, 1.0)
        with self.times["optimiser"].measure():
            self.optimizer.step()
            self.optimizer.zero_grad()
        with self.times["average"].measure():
            get_ema_multi_avg_fn(0.999)(self.average, self.weights, 0)

    def _network(self, h: Tensor) -> Sequence[Tensor]:
        model, field = self.model, Field(h, h.new_zeros(h.shape[-1]))
        return model.cnn(field, before=model.embedding, after=model.head)

    def _loss(self, raw: Tensor, task: Task) -> Tensor:
        assert task.y_target is not None
        predictive = self.model.of_measurements(raw, task)
        return -predictive.log_likelihood(task.y_target).mean()

    def _part(
        self, name: str, function: Callable[..., Sequence[Tensor]], *inputs: Tensor
    ) -> list[Tensor]:
        """Apply a function, and return what the next part begins with: leaves of their own."""
        with self.times[name].measure():
            outputs = function(*inputs)
        self._cuts.append((name, list(outputs), list(inputs)))
        return [output.detach().requires_grad_() for output in outputs]

    def _backward(self, loss: list[Tensor]) -> None:
        gradients: list[Tensor | None] = [torch.ones_like(value) for value in loss]
        while self._cuts:
            name, outputs, inputs = self._cuts.pop()
            with self.times[f"{name}, backward"].measure():
                torch.autograd.backward(outputs, gradients)
            gradients = [leaf.grad for leaf in inputs]
