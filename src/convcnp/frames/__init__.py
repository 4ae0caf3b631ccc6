"""A user's table: read, understood, turned into arrays, and back; without torch."""

from typing import TYPE_CHECKING

from convcnp.extras import imported_when_used

if TYPE_CHECKING:
    from convcnp.frames.columns import Columns as Columns
    from convcnp.frames.columns import choose_columns as choose_columns
    from convcnp.frames.containers import Container as Container
    from convcnp.frames.containers import open_container as open_container
    from convcnp.frames.points import PointsTable as PointsTable
    from convcnp.frames.points import map_targets as map_targets
    from convcnp.frames.points import point_targets as point_targets
    from convcnp.frames.reading import TableFile as TableFile
    from convcnp.frames.reading import read_table as read_table
    from convcnp.frames.series import Ragged as Ragged
    from convcnp.frames.series import Rows as Rows
    from convcnp.frames.series import SeriesTable as SeriesTable
    from convcnp.frames.targets import Targets as Targets
    from convcnp.frames.targets import TargetText as TargetText
    from convcnp.frames.targets import series_targets as series_targets
    from convcnp.frames.time_axis import TimeAxis as TimeAxis

_NAMES = {
    "read_table": "reading",
    "TableFile": "reading",
    "open_container": "containers",
    "Container": "containers",
    "Columns": "columns",
    "choose_columns": "columns",
    "SeriesTable": "series",
    "Rows": "series",
    "Ragged": "series",
    "PointsTable": "points",
    "Targets": "targets",
    "TargetText": "targets",
    "series_targets": "targets",
    "point_targets": "points",
    "map_targets": "points",
    "TimeAxis": "time_axis",
}

__all__ = list(_NAMES)
__getattr__, __dir__ = imported_when_used(__name__, _NAMES)
