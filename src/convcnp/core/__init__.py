"""Algorithm 1: a task, its grid, set convolutions, networks, distributions and units."""

from typing import TYPE_CHECKING

from convcnp.extras import imported_when_used

if TYPE_CHECKING:
    from convcnp.core.cnn import CNN as CNN
    from convcnp.core.cnn import ResNet as ResNet
    from convcnp.core.cnn import SimpleCNN as SimpleCNN
    from convcnp.core.cnn import UNet as UNet
    from convcnp.core.filters import LongFilters as LongFilters
    from convcnp.core.grid import Field as Field
    from convcnp.core.grid import Grid as Grid
    from convcnp.core.grid import Margin as Margin
    from convcnp.core.grid import covering_grid as covering_grid
    from convcnp.core.heads import GaussianHead as GaussianHead
    from convcnp.core.heads import Head as Head
    from convcnp.core.heads import MixtureHead as MixtureHead
    from convcnp.core.image_task import ImageTask as ImageTask
    from convcnp.core.predictive import GaussianPredictive as GaussianPredictive
    from convcnp.core.predictive import MixturePredictive as MixturePredictive
    from convcnp.core.predictive import Predictive as Predictive
    from convcnp.core.set_conv import SetConvDecoder as SetConvDecoder
    from convcnp.core.set_conv import SetConvEncoder as SetConvEncoder
    from convcnp.core.task import Task as Task
    from convcnp.core.units import Normaliser as Normaliser
    from convcnp.core.units import Units as Units

_NAMES = {
    "Task": "task",
    "ImageTask": "image_task",
    "Grid": "grid",
    "Field": "grid",
    "Margin": "grid",
    "covering_grid": "grid",
    "SetConvEncoder": "set_conv",
    "SetConvDecoder": "set_conv",
    "CNN": "cnn",
    "SimpleCNN": "cnn",
    "UNet": "cnn",
    "ResNet": "cnn",
    "LongFilters": "filters",
    "Predictive": "predictive",
    "GaussianPredictive": "predictive",
    "MixturePredictive": "predictive",
    "Head": "heads",
    "GaussianHead": "heads",
    "MixtureHead": "heads",
    "Normaliser": "units",
    "Units": "units",
}

__all__ = list(_NAMES)
__getattr__, __dir__ = imported_when_used(__name__, _NAMES)
