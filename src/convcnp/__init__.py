"""Predictions with honest uncertainty from irregular series and scattered points."""

from convcnp.core.cnn import SimpleCNN, UNet
from convcnp.core.predictive import GaussianPredictive
from convcnp.core.task import Task
from convcnp.errors import ConvCNPError
from convcnp.models.attncnp import AttnCNP
from convcnp.models.cnp import CNP
from convcnp.models.convcnp import ConvCNP
from convcnp.models.gaussian_process import EQ, GaussianProcess, Matern52, WeaklyPeriodic
from convcnp.models.tiling import predict_in_tiles
from convcnp.predict.predictor import Predictor
from convcnp.predict.zoo import load

__all__ = [
    "CNP",
    "EQ",
    "AttnCNP",
    "ConvCNP",
    "ConvCNPError",
    "GaussianPredictive",
    "GaussianProcess",
    "Matern52",
    "Predictor",
    "SimpleCNN",
    "Task",
    "UNet",
    "WeaklyPeriodic",
    "load",
    "predict_in_tiles",
]
