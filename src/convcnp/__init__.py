"""Predictions with honest uncertainty from irregular series and scattered points."""

from convcnp.cnn import SimpleCNN, UNet
from convcnp.errors import ConvCNPError
from convcnp.gp import EQ, GaussianProcess, Matern52, WeaklyPeriodic
from convcnp.models.attncnp import AttnCNP
from convcnp.models.cnp import CNP
from convcnp.models.convcnp import ConvCNP, convcnp, convcnpxl
from convcnp.models.tiling import predict_in_tiles
from convcnp.predictive import GaussianPredictive
from convcnp.predictor import Predictor
from convcnp.task import Task
from convcnp.zoo import load

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
    "convcnp",
    "convcnpxl",
    "load",
    "predict_in_tiles",
]
