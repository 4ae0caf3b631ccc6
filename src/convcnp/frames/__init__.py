"""A user's table: read, understood, turned into arrays, and back; without torch."""

from typing import TYPE_CHECKING

from convcnp.extras import imported_when_used

if TYPE_CHECKING:
    from convcnp.frames.columns import Columns as Columns
    from convcnp.frames.points import PointsTable as PointsTable
    from convcnp.frames.reading import TableFile as TableFile
    from convcnp.frames.reading import read_table as read_table
    from convcnp.frames.series import SeriesTable as SeriesTable
    from convcnp.frames.targets import Targets as Targets
    from convcnp.frames.time_axis import TimeAxis as TimeAxis

_NAMES = {
    "read_table": "reading",
    "TableFile": "reading",
    "Columns": "columns",
    "SeriesTable": "series",
    "PointsTable": "points",
    "Targets": "targets",
    "TimeAxis": "time_axis",
}

__all__ = list(_NAMES)
__getattr__, __dir__ = imported_when_used(__name__, _NAMES)
