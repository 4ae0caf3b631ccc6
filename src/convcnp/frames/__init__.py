"""A user's table: read, understood, turned into arrays, and back; without torch."""

from convcnp.frames.columns import Columns, choose_columns
from convcnp.frames.containers import Container, open_container
from convcnp.frames.points import PointsTable, map_targets, point_targets
from convcnp.frames.reading import TableFile, read_table
from convcnp.frames.series import Ragged, Rows, SeriesTable
from convcnp.frames.targets import Targets, TargetText, series_targets
from convcnp.frames.time_axis import TimeAxis

__all__ = [
    "Columns",
    "Container",
    "PointsTable",
    "Ragged",
    "Rows",
    "SeriesTable",
    "TableFile",
    "TargetText",
    "Targets",
    "TimeAxis",
    "choose_columns",
    "map_targets",
    "open_container",
    "point_targets",
    "read_table",
    "series_targets",
]
