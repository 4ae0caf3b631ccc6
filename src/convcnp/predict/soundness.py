"""What a model's folder may say: checked once, when it is loaded, against limits of ours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from convcnp.errors import CheckpointError
from convcnp.models.base import Model
from convcnp.training.experiment import Experiment

_LARGEST_DESCRIPTION = 2**24  # bytes
_LARGEST_NUMBER, _SMALLEST_NUMBER = 1e6, 1e-6  # of a network's settings
_LARGEST_COUNT = 2**16  # of channels, blocks and the like, each
_MOST_PARTS = 256  # of a list, such as the levels of a U-Net
_DEPTHS = ("blocks", "layers", "self_attention")  # settings with layers of their own for each


def read_description(path: Path) -> str:
    """Read a model's description, unless it is far larger than any is."""
    size = path.stat().st_size
    if size > _LARGEST_DESCRIPTION:
        raise CheckpointError(
            f"Expected a model's description of at most {_LARGEST_DESCRIPTION:,} bytes, but {path} "
            f"has {size:,}; get the model again."
        )
    return path.read_text()


def check_settings(experiment: Experiment) -> None:
    """Refuse settings of a network that no sensible one has."""
    for name, value in _numbers(experiment.model):
        largest = _LARGEST_COUNT if isinstance(value, int) else _LARGEST_NUMBER
        if value and not _SMALLEST_NUMBER <= abs(value) <= largest:
            raise CheckpointError(
                f"model.{name} must be a number from {_SMALLEST_NUMBER:g} to {largest:g}, got "
                f"{value:g}; get the model again."
            )


def _numbers(settings: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in settings.items():
        parts = value if isinstance(value, list | tuple) else [value]
        if len(parts) > _MOST_PARTS:
            raise CheckpointError(
                f"model.{name} must have at most {_MOST_PARTS} parts, got {len(parts):,}; get the "
                "model again."
            )
        for part in parts:
            if isinstance(part, int | float) and not isinstance(part, bool):
                yield name, part


def check_sizes(experiment: Experiment, tensors: Mapping[str, Tensor]) -> None:
    """Refuse a network that is larger than its weights, before it is built.

    A line of text can ask for more than any memory holds; the tensors of a file cannot.
    """
    for name in _DEPTHS:
        if experiment.model.get(name, 0) > len(tensors):
            raise CheckpointError(
                f"model.{name} must be at most {len(tensors)}, the number of tensors in the "
                f"weights, got {experiment.model[name]}; get the model again."
            )
    with torch.device("meta"):  # shapes without numbers
        built = experiment.build_model().state_dict()
    wanted, held = (sum(part.numel() for part in parts.values()) for parts in (built, tensors))
    if wanted != held:
        raise CheckpointError(
            f"Expected {wanted:,} weights, as the model's description says, but the file holds "
            f"{held:,}; get the model again."
        )


def check_finite(model: Model) -> None:
    """Refuse weights that are no numbers."""
    for name, value in model.state_dict().items():
        if not torch.isfinite(value).all():
            bad = value[~torch.isfinite(value)].flatten()[0].item()
            shown = "NaN" if math.isnan(bad) else "infinite"
            raise CheckpointError(
                f"Expected weights that are finite numbers, but {name} holds one that is {shown}; "
                "get the model again, or train it again."
            )
