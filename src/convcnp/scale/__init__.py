"""Predictions for more series than one process, or one machine, can hold."""

from typing import TYPE_CHECKING

from convcnp.extras import imported_when_used

if TYPE_CHECKING:
    from convcnp.scale.dataset import predict as predict
    from convcnp.scale.job import Summary as Summary
    from convcnp.scale.job import predict_files as predict_files

_NAMES = {"predict": "dataset", "predict_files": "job", "Summary": "job"}

__all__ = list(_NAMES)
__getattr__, __dir__ = imported_when_used(__name__, _NAMES)
