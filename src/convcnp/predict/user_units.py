"""Predictions in a user's units, by a model that sees data in its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.core.units import Units
from convcnp.data.source import NamedSource
from convcnp.models.base import Model
from convcnp.predict.repeats import averaged


def as_seen(task: Task, source: NamedSource) -> tuple[Task, Units]:
    """Return a user's task as a model of this source sees it, and the way back."""
    if source.familiar.has_repeats:
        units = source.normaliser.units(task)
    else:
        task, scatter = averaged(task)
        units = replace(source.normaliser.units(task), scatter=scatter)
    return units.to_model(task), units


@dataclass(frozen=True)
class InUserUnits:
    """A model that sees every task in units of its source, and answers in the user's."""

    model: Model
    source: NamedSource

    @torch.inference_mode()
    def __call__(self, task: Task) -> Predictive:
        """Predict the targets, without any fitting."""
        seen, units = as_seen(task, self.source)
        return units.to_user(task.x_target, self.model(seen))
