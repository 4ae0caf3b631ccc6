"""A trained model for users."""

from typing import TYPE_CHECKING

from convcnp.extras import imported_when_used

if TYPE_CHECKING:
    from convcnp.predict.calibration import Calibration as Calibration
    from convcnp.predict.calibration import Check as Check
    from convcnp.predict.completion import Completion as Completion
    from convcnp.predict.completion import complete as complete
    from convcnp.predict.imputer import ConvCNPImputer as ConvCNPImputer
    from convcnp.predict.predictor import Predictor as Predictor
    from convcnp.predict.request import Request as Request
    from convcnp.predict.zoo import load as load

_NAMES = {
    "ConvCNPImputer": "imputer",
    "load": "zoo",
    "Predictor": "predictor",
    "complete": "completion",
    "Completion": "completion",
    "Request": "request",
    "Check": "calibration",
    "Calibration": "calibration",
}

__all__ = list(_NAMES)
__getattr__, __dir__ = imported_when_used(__name__, _NAMES)
