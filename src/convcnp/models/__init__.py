"""Maps from a task to a predictive distribution, assembled from the core."""

from typing import TYPE_CHECKING

from convcnp.extras import imported_when_used

if TYPE_CHECKING:
    from convcnp.models.attncnp import AttnCNP as AttnCNP
    from convcnp.models.base import Model as Model
    from convcnp.models.cnp import CNP as CNP
    from convcnp.models.convcnp import ConvCNP as ConvCNP
    from convcnp.models.gaussian_process import EQ as EQ
    from convcnp.models.gaussian_process import GaussianProcess as GaussianProcess
    from convcnp.models.gaussian_process import Matern52 as Matern52
    from convcnp.models.gaussian_process import WeaklyPeriodic as WeaklyPeriodic
    from convcnp.models.grid_convcnp import GridConvCNP as GridConvCNP
    from convcnp.models.tiling import predict_in_tiles as predict_in_tiles

_NAMES = {
    "Model": "base",
    "ConvCNP": "convcnp",
    "GridConvCNP": "grid_convcnp",
    "CNP": "cnp",
    "AttnCNP": "attncnp",
    "GaussianProcess": "gaussian_process",
    "EQ": "gaussian_process",
    "Matern52": "gaussian_process",
    "WeaklyPeriodic": "gaussian_process",
    "predict_in_tiles": "tiling",
}

__all__ = list(_NAMES)
__getattr__, __dir__ = imported_when_used(__name__, _NAMES)
