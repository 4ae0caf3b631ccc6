"""The CNP: a mean of embedded points."""

import math

import pytest
import torch

from convcnp.errors import SettingError
from convcnp.models.attncnp import AttnCNP
from convcnp.models.cnp import CNP
from helpers import lively, moments, random_task

nan = float("nan")


@pytest.mark.parametrize(("build", "count"), [(CNP, 66_818)])
def test_parameter_counts_are_the_published_ones(build, count):
    assert build().num_parameters == count


def test_a_cnp_decodes_the_mean_of_the_embedded_points():
    model, task = lively(CNP()).eval(), random_task(num_context=4)
    embedded = [
        model.encoder(torch.stack([task.x_context[0, n, 0], task.y_context[0, n, 0]]))
        for n in range(4)
    ]
    code = sum(embedded) / 4
    for m in range(6):
        mean, scale = model.decoder(torch.cat([task.x_target[0, m], code])).tolist()
        assert moments(model, task)[0, 0, m].item() == pytest.approx(mean)
        assert moments(model, task)[1, 0, m].item() == pytest.approx(math.log1p(math.exp(scale)))


@pytest.mark.parametrize("build", [CNP, AttnCNP])
@pytest.mark.parametrize("dims, name", [((0, 1), "dim_x"), ((1, 0), "dim_y"), ((1, -1), "dim_y")])
def test_dimensions_are_positive(build, dims, name):
    with pytest.raises(SettingError, match=f"{name} must be a positive number, got .*above zero"):
        build(*dims)


@pytest.mark.parametrize("build", [CNP, AttnCNP])
@pytest.mark.parametrize("width", [0, -8])
def test_a_width_is_positive(build, width):
    with pytest.raises(SettingError, match=f"width must be a positive number, got {width}"):
        build(width=width)
