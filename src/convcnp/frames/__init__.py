"""A user's table: read, understood, turned into arrays, and back; without torch."""

from typing import TYPE_CHECKING

from convcnp.extras import imported_when_used

if TYPE_CHECKING:
    from convcnp.frames.reading import read_table as read_table
    from convcnp.frames.series import SeriesTable as SeriesTable
    from convcnp.frames.time_axis import TimeAxis as TimeAxis

_NAMES = {
    "read_table": "reading",
    "SeriesTable": "series",
    "TimeAxis": "time_axis",
}

__all__ = list(_NAMES)
__getattr__, __dir__ = imported_when_used(__name__, _NAMES)
