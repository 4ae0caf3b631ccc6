"""What both dictionaries share: a standard normal where nothing is known, and a mixture."""

import numpy as np
import pytest
import torch

from convcnp.core.task import Task
from convcnp.models.dictionary.averaged import AveragedProcesses
from convcnp.models.dictionary.model import GaussianProcessDictionary
from convcnp.models.dictionary.plane import PlaneDictionary


@pytest.mark.parametrize("build", [GaussianProcessDictionary, PlaneDictionary])
def test_channels_without_observations_are_standard_normal(build):
    model = build(dim_y=2)
    assert isinstance(model, AveragedProcesses)
    x = np.random.default_rng(0).uniform(0, 3, (6, model.dim_x))
    y = np.stack([x[:, 0], np.full(6, np.nan)], 1)
    predictive = model(Task.from_arrays(x, y, x[:2] + 0.1))
    assert (predictive.mean[0, :, 1] == 0).all()
    assert (predictive.stddev[0, :, 1] == 1).all()
    assert (predictive.stddev[0, :, 0] < 1).all()
    assert predictive.mean.dtype == model.dtype == torch.float64


def test_surprise_leaves_a_share_to_what_no_entry_foresees():
    x = np.arange(12.0)
    task = Task.from_arrays(x, np.sin(x), x[:1] + 0.5, np.array([9.0]))
    never, sometimes = (
        GaussianProcessDictionary(surprise=share)(task).log_prob(task.y_target)
        for share in (0.0, 0.5)
    )
    assert sometimes > never
