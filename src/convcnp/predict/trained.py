"""A model as those see it who ask it: by its name, and what it was trained on."""

from __future__ import annotations

from typing import NamedTuple

from convcnp.data.source import NamedSource
from convcnp.data.table import TableSource
from convcnp.frames.columns import Columns
from convcnp.models.base import Model


class Trained(NamedTuple):
    """A model, its name, and what it was trained on."""

    name: str
    model: Model
    source: NamedSource

    @property
    def columns(self) -> Columns:
        """Those of the table that it was trained on, if it was on one."""
        return self.source.columns if isinstance(self.source, TableSource) else Columns()
