"""Pictures of what was predicted."""

from typing import TYPE_CHECKING

from convcnp.extras import imported_when_used

if TYPE_CHECKING:
    from convcnp.plots.calibration import draw_calibration as draw_calibration
    from convcnp.plots.completion import draw_completion as draw_completion
    from convcnp.plots.completion import write_completion as write_completion
    from convcnp.plots.maps import draw_map as draw_map
    from convcnp.plots.series import draw_series as draw_series

_NAMES = {
    "draw_series": "series",
    "draw_map": "maps",
    "draw_calibration": "calibration",
    "draw_completion": "completion",
    "write_completion": "completion",
}

__all__ = list(_NAMES)
__getattr__, __dir__ = imported_when_used(__name__, _NAMES)
