"""MeasuredConvCNP: what its encoder shows the network; promises are tested with all models."""

import torch

from convcnp.core.precision import ExpandedHead
from convcnp.core.set_conv import EPSILON
from convcnp.core.task import Task
from convcnp.models.convcnp import ConvCNP
from convcnp.models.measured import MeasuredConvCNP

TASK = Task.from_arrays(
    [0.0, 0.2, 0.7], [3.0, -40.0, 5.0], [0.5], context_error=[0.1, 2.0, 0.0], target_error=[0.2]
)


def test_the_network_sees_weighted_densities_means_and_levels():
    model = MeasuredConvCNP.small(points_per_unit=8).double()
    grid = model.covering_grid(TASK)
    found = model.encoded(TASK, grid)[0]
    cells = grid.origin[0] + grid.spacing * torch.arange(grid.shape[0]).double()
    kernel = torch.exp(-0.5 * ((cells[:, None] - TASK.x_context[0, :, 0]) / 0.25) ** 2)
    error, y = TASK.context_error[0, :, 0], TASK.y_context[0, :, 0]
    weighted = kernel / (1 + error**2)
    density = weighted.sum(1)
    expected = [density, (weighted @ y) / (density + EPSILON)]
    expected.append((weighted @ error.log1p()) / (density + EPSILON))
    torch.testing.assert_close(found, torch.stack(expected, -1), atol=1e-6, rtol=1e-5)


def test_compressed_outputs_are_arcsines():
    model = MeasuredConvCNP.small(points_per_unit=8, compress=True).double()
    assert isinstance(model.to_predictive, ExpandedHead)
    grid = model.covering_grid(TASK)
    plain = MeasuredConvCNP.small(points_per_unit=8).double()
    arcsines = Task(
        TASK.x_context,
        TASK.y_context.asinh(),
        TASK.x_target,
        context_error=TASK.context_error / (1 + TASK.y_context**2).sqrt(),
    )
    torch.testing.assert_close(model.encoded(TASK, grid), plain.encoded(arcsines, grid))


def test_the_tolerance_is_learned():
    model = MeasuredConvCNP.small(points_per_unit=8)
    model(TASK).log_likelihood(torch.zeros(1, 1, 1)).sum().backward()
    assert model.precision.log_tolerance.grad.abs().item() > 0


def test_it_has_a_channel_and_a_tolerance_more_than_others():
    extra = MeasuredConvCNP.small(dim_y=2).num_parameters - ConvCNP.small(dim_y=2).num_parameters
    assert extra == 2 * 8 + 2
