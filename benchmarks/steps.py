"""A training step against the plain version's, and the drawing of its tasks against a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch.nn.functional import pad

from benchmarks.plain import copy_weights, train_step
from benchmarks.timing import Contestant, Finding, interleaved, speed_up
from convcnp import ConvCNP, Task
from convcnp.core.allocation import keep_freed_memory
from convcnp.core.heads import GaussianHead
from convcnp.core.predictive import Predictive
from convcnp.data.functions import GPSource
from convcnp.data.source import seeded
from convcnp.training.machine import flushing_denormals

LEAST = {"convcnp": 10.0, "convcnpxl": 18.0}  # the speed-up asked of each preset
SOURCE = GPSource()
MAX_POINTS = SOURCE.max_points


def build(preset: str) -> ConvCNP:
    """Build a preset with the settings of experiments/table1."""
    torch.manual_seed(0)
    if preset == "convcnpxl":
        return ConvCNP.xl(head=GaussianHead(1e-3), training_margin=0.1)
    if preset == "convcnp-ours":
        return ConvCNP.residual(head=GaussianHead(1e-3), training_margin=0.1)
    return ConvCNP.small(head=GaussianHead(1e-3))


def draw(step: int) -> Task:
    """Draw 16 tasks of the paper's EQ setting."""
    return SOURCE.draw(16, seeded(0, step))


def every(share: int, tasks: list[Task]) -> list[Task]:
    """Return one of every so many tasks, such that the few cost on average what all do."""
    # Plainly done: two kernel weights per context point and cell, eight per head for a target.
    tasks = sorted(
        tasks, key=lambda task: 2 * task.x_context.shape[1] + 16 * task.x_target.shape[1]
    )
    few = tasks[share // 2 :: share]
    return [few[i] for i in torch.randperm(len(few), generator=seeded(0))]


def package_step(
    model: ConvCNP, predict: Callable[[Task], Predictive] | None = None
) -> Callable[[Task], None]:
    """Return a function that takes one step: forward, backward, fused Adam."""
    predict = predict or model
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4, weight_decay=1e-5, fused=True)

    def step(task: Task) -> None:
        optimizer.zero_grad()
        assert task.y_target is not None
        loss = -predict(task).log_likelihood(task.y_target).mean()
        loss.backward()
        optimizer.step()

    return step


def plain_step(model: ConvCNP) -> Callable[[Task], None]:
    """Return a function that takes one step of the plain version, with default Adam."""
    plain = copy_weights(model)
    optimizer = torch.optim.Adam(plain.parameters(), lr=3e-4, weight_decay=1e-5)
    return lambda task: train_step(plain, optimizer, task)


def steps(quick: bool, *, compiled: bool = False) -> list[Finding]:
    """Compare training steps of both presets on the same tasks.

    Denormals are flushed and freed memory kept for both: else the plain version is the slower.
    """
    keep_freed_memory()
    tasks = every(5, [draw(i) for i in range(100 if quick else 500)])
    findings = []
    for preset, least in LEAST.items():
        model = build(preset)
        ours, plain = package_step(model), plain_step(build(preset))
        contestants: dict[str, Contestant] = {
            "package": lambda i, ours=ours: ours(tasks[i]),
            "plain": lambda i, plain=plain: plain(tasks[i]),
        }
        if compiled:
            try:
                contestants["compiled"] = _compiled_step(build(preset), tasks)
            except Exception as error:  # whatever a missing compiler or an odd platform raises
                reason = {"not available": str(error).splitlines()[0]}
                findings.append(Finding(f"step, {preset}, compiled", None, "", parts=reason))
        with flushing_denormals():
            times = interleaved(contestants, len(tasks))
        findings.append(speed_up(f"step, {preset}", times["package"], times["plain"], least))
        if "compiled" in times:
            name = f"step, {preset}, compiled"
            findings.append(speed_up(name, times["compiled"], times["plain"], None))
    return findings


def _compiled_step(model: ConvCNP, tasks: list[Task]) -> Contestant:
    """Return a compiled step on tasks and grids of one size; compiling takes its first call."""
    padded = [_padded(task) for task in tasks]
    shape = max(model.covering_grid(task).shape for task in tasks)
    on_grid = torch.compile(model.on_grid, dynamic=False)

    def predict(task: Task) -> Predictive:
        # The grid may be longer than needed, so that every step has the same sizes.
        raw = on_grid(task, replace(model.covering_grid(task), shape=shape))
        return model.to_predictive(raw, task.target_mask)

    step = package_step(model, predict)
    step(padded[0])
    return lambda i: step(padded[i])


def _padded(task: Task) -> Task:
    """Bring a task to the largest sizes; the padding is masked."""
    return Task(
        **{
            name: pad(tensor, (0, 0, 0, MAX_POINTS - tensor.shape[1]))
            for name, tensor in vars(task).items()
            if tensor is not None
        }
    )


def drawing(quick: bool) -> list[Finding]:
    """Compare drawing 16 tasks with a training step of `convcnp` on them."""
    repetitions = 20 if quick else 100
    tasks = [draw(i) for i in range(repetitions)]
    step = package_step(build("convcnp"))
    with flushing_denormals():
        times = interleaved({"draw": draw, "step": lambda i: step(tasks[i])}, repetitions)
    drawn, taken = times["draw"].milliseconds, times["step"].milliseconds
    parts = {"ms": round(drawn, 2), "step ms": round(taken, 2)}
    return [Finding("drawing 16 tasks", 100 * drawn / taken, "% of a step", most=10.0, parts=parts)]


def margins(quick: bool) -> list[Finding]:
    """Compare training steps of `ConvCNP.xl` by padding and margin (decision 3)."""
    tasks = [draw(i) for i in range(20 if quick else 100)]
    margins_tried = {"margin 0.1": 0.1, "exact margin": None}
    models = {
        f"step, ConvCNP.xl, {padding}, {label}": ConvCNP.xl(
            padding=padding, head=GaussianHead(1e-3), training_margin=margin
        )
        for padding in ("unobserved", "zeros", "circular")
        for label, margin in margins_tried.items()
    }
    takers = {name: package_step(model) for name, model in models.items()}
    with flushing_denormals():
        times = interleaved(
            {name: lambda i, step=step: step(tasks[i]) for name, step in takers.items()}, len(tasks)
        )
    least = min(taken.milliseconds for taken in times.values())
    return [
        Finding(
            name,
            taken.milliseconds / least,
            "x the least",
            parts={
                "ms": round(taken.milliseconds, 2),
                "cells": models[name].covering_grid(tasks[0]).shape[0],
            },
        )
        for name, taken in times.items()
    ]
