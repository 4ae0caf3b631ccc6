"""What is asked of points in the plane, or on the globe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch

from convcnp.core.units import typical_gap
from convcnp.data.simulated_fields import SimulatedFields
from convcnp.data.table import TableSource
from convcnp.errors import SettingError
from convcnp.frames.columns import Columns, choose_columns
from convcnp.frames.containers import Container
from convcnp.frames.error_columns import with_errors
from convcnp.frames.points import PointsTable, point_targets
from convcnp.frames.targets import Targets
from convcnp.models.base import Model
from convcnp.models.sphere import in_space
from convcnp.predict.batches import Predictions, nearest
from convcnp.predict.cautions import POINTS, Words
from convcnp.predict.job import Job
from convcnp.predict.request import Request
from convcnp.predict.trained import Trained

_FAR = 6.0  # typical distances between neighbours


@dataclass(frozen=True)
class PointsRequest(Request):
    """What is asked of points in the plane."""

    words: ClassVar[Words] = POINTS

    table: PointsTable

    @classmethod
    def understood(
        cls, trained: Trained, container: Container, named: Columns
    ) -> tuple[Trained, PointsTable]:
        """Read the columns that were trained on; or those named, for a model without training."""
        if isinstance(trained.source, TableSource) and trained.source.inputs:
            return trained, PointsTable.of(container.frame, _learned(trained.source, named))
        table = PointsTable.of(container.frame, _chosen(container, named))
        model = _untrained(trained.name, trained.model, table)
        return Trained(trained.name, model, SimulatedFields()), table

    @staticmethod
    def targets_of(table: PointsTable, at: Any) -> Targets:  # noqa: ANN401
        """Find the points that are asked for; see `point_targets`."""
        return point_targets(table, at)

    @property
    def _many(self) -> str:
        globe = "" if self.table.longitude is None else " on the globe"
        if self.columns.group is None:
            return globe
        return f"{globe} of {len(self.table.series):,} sets by {self.columns.group!r}"

    @property
    def remarks(self) -> list[str]:
        """How the inputs are taken, where that could be otherwise."""
        if self.table.longitude is None:
            return super().remarks
        return [
            *super().remarks,
            f"{self.columns.over} are taken for degrees: longitudes wrap, and distances are those "
            "on a globe. Under other names they would be a plane's.",
        ]

    def _check_samples(self, samples: int) -> None:
        super()._check_samples(samples)
        if samples and not self.model.draws_surfaces:
            raise SettingError(
                f"{self.name!r} draws coherent samples along a time only, got samples = {samples} "
                "for points in the plane; leave them out, or use 'general'."
            )

    def _cautions(self, job: Job, found: Predictions) -> Iterator[str]:
        """Say where the data lies outside what the model knows, and which points are far off."""
        yield from super()._cautions(job, found)
        text = _far_away(self.table, job, self.targets.inputs.x, self.targets.inputs.starts)
        if text:
            yield text


def _learned(source: TableSource, named: Columns) -> Columns:
    """Return the columns of the training table; no others can be named."""
    other_inputs = named.inputs if set(named.inputs) != set(source.inputs) else ()
    named_too = (named.time, named.values, named.group, named.errors, other_inputs)
    given = [str(part) for part in named_too if part]
    if given:
        raise SettingError(
            "Points in the plane are read by the columns of the training table; leave out time, "
            f"value, group, error and other inputs (got {', '.join(map(repr, given))})."
        )
    return replace(source.columns, missing=named.missing or source.missing)


def _chosen(container: Container, named: Columns) -> Columns:
    if not named.inputs:
        raise SettingError(
            "Points in the plane have two input columns, got none; name them with inputs=."
        )
    columns = choose_columns(container.frame, named)
    return with_errors(container.frame, columns, named, in_plane=True)


def _untrained(name: str, model: Model, table: PointsTable) -> Model:
    """Return the model that answers without having been trained on the table's like."""
    found = model.in_plane(table.longitude)
    if found is None:
        raise SettingError(
            f"{name!r} was trained on series over a time, and takes no points in the plane, got "
            f"the inputs {table.columns.over}; use 'general', or train a model with these inputs."
        )
    return found


def _coordinates(table: PointsTable, x: np.ndarray) -> torch.Tensor:
    """Return points as coordinates whose distances mean something."""
    points = torch.from_numpy(x)
    return points if table.longitude is None else in_space(points, table.longitude)


def _far_away(
    table: PointsTable, job: Job, asked: np.ndarray, starts: Sequence[int] | np.ndarray
) -> str:
    """Say how many asked points are far from every observation, in a sentence, if any are."""
    far, farthest = 0, 0.0
    for i in range(len(job.series)):
        x, targets = job.series.x[job.series.rows(i)], asked[starts[i] : starts[i + 1]]
        if len(x) < 2 or not len(targets):
            continue
        seen, asked_for = _coordinates(table, x), _coordinates(table, targets)
        typical = typical_gap(seen[None], torch.ones(1, len(x), 1, dtype=torch.bool)).item()
        away = nearest(asked_for, seen) / typical
        far += int((away > _FAR).sum())
        farthest = max(farthest, float(away.max()))
    if not far:
        return ""
    return (
        f"{far:,} of {len(asked):,} asked points are farther from every observation than {_FAR:g} "
        f"times what neighbours are apart (up to {farthest:.3g} times); what is said there is the "
        "trend and spread of the whole, rather than of what is near."
    )
