"""Predictions with honest uncertainty from irregular series and scattered points."""

from convcnp.errors import TYPE_CHECKING
from convcnp.extras import imported_when_used

if TYPE_CHECKING:
    from convcnp.core.cnn import ResNet as ResNet
    from convcnp.core.cnn import SimpleCNN as SimpleCNN
    from convcnp.core.cnn import UNet as UNet
    from convcnp.core.image_task import ImageTask as ImageTask
    from convcnp.core.predictive import GaussianPredictive as GaussianPredictive
    from convcnp.core.predictive import Predictive as Predictive
    from convcnp.core.task import Task as Task
    from convcnp.data.functions import FunctionSource as FunctionSource
    from convcnp.errors import ConvCNPError as ConvCNPError
    from convcnp.models.attncnp import AttnCNP as AttnCNP
    from convcnp.models.cnp import CNP as CNP
    from convcnp.models.convcnp import ConvCNP as ConvCNP
    from convcnp.models.gaussian_process import GaussianProcess as GaussianProcess
    from convcnp.models.grid_convcnp import GridConvCNP as GridConvCNP
    from convcnp.models.tiling import predict_in_tiles as predict_in_tiles
    from convcnp.predict.completion import complete as complete
    from convcnp.predict.predictor import Predictor as Predictor
    from convcnp.predict.zoo import load as load
    from convcnp.training.loop import TrainingSettings as TrainingSettings
    from convcnp.training.loop import train as train

__version__ = "0.1.0"

# Each name, and the module it is imported from when it is first used.
_NAMES = {
    "load": "predict.zoo",
    "Predictor": "predict.predictor",
    "complete": "predict.completion",
    "Task": "core.task",
    "ImageTask": "core.image_task",
    "FunctionSource": "data.functions",
    "ConvCNP": "models.convcnp",
    "GridConvCNP": "models.grid_convcnp",
    "CNP": "models.cnp",
    "AttnCNP": "models.attncnp",
    "GaussianProcess": "models.gaussian_process",
    "SimpleCNN": "core.cnn",
    "UNet": "core.cnn",
    "ResNet": "core.cnn",
    "Predictive": "core.predictive",
    "GaussianPredictive": "core.predictive",
    "train": "training.loop",
    "TrainingSettings": "training.loop",
    "predict_in_tiles": "models.tiling",
    "ConvCNPError": "errors",
}

__all__ = list(_NAMES)
__getattr__, __dir__ = imported_when_used(__name__, _NAMES)
