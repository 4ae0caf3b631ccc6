"""The page to play with: the same predictions as the command's, in a browser."""

from typing import TYPE_CHECKING

from convcnp.extras import imported_when_used

if TYPE_CHECKING:
    from convcnp.app.serving import Server as Server
    from convcnp.app.serving import build as build

_NAMES = {"Server": "serving", "build": "serving"}

__all__ = list(_NAMES)
__getattr__, __dir__ = imported_when_used(__name__, _NAMES)
