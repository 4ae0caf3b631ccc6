"""The paper's tables and figures, and what they are compared with."""

from typing import TYPE_CHECKING

from convcnp.extras import imported_when_used

if TYPE_CHECKING:
    from convcnp.paper.comparison import compare as compare
    from convcnp.paper.tables import build_table as build_table

_NAMES = {
    "build_table": "tables",
    "compare": "comparison",
}

__all__ = list(_NAMES)
__getattr__, __dir__ = imported_when_used(__name__, _NAMES)
