"""Long filters: what they compute, how far they see, and that the grid's end cannot be seen."""

import pytest
import torch
from torch.nn.functional import conv1d

from convcnp.core.cnn import UNet
from convcnp.core.filters import LongFilter, LongFilters, correlated
from convcnp.core.grid import Field
from convcnp.core.task import Task
from convcnp.errors import SettingError
from convcnp.models.convcnp import ConvCNP
from convcnp.training.experiment import Experiment
from helpers import ROOT, assert_equal, lively


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


def small(layers: int = 2, reach: int = 5) -> LongFilters:
    return lively(LongFilters(UNet(1, 2, (3, 4), (4, 3)), layers, reach))


@pytest.mark.parametrize("cells", [1, 7, 32, 100])
@pytest.mark.parametrize("reach", [1, 5, 64])
def test_transforms_give_what_sums_over_cells_give(cells, reach):
    lines, kernels = drawn(3, 4, cells), drawn(4, 2 * reach + 1, seed=1)
    sums = conv1d(lines, kernels[:, None], padding=reach, groups=4)
    assert_equal(correlated(lines, kernels), sums, 1e-12)


def test_a_filter_adds_what_it_finds():
    layer = lively(LongFilter(3, reach=4))
    constant = drawn(3)
    found = layer(Field(constant.expand(2, 20, 3), constant))
    assert_equal(found.values, found.beyond.expand_as(found.values), 1e-12)
    assert (found.beyond - constant).abs().max() > 0.1
    with torch.no_grad():
        layer.mixing.weight.zero_()
        layer.mixing.bias.zero_()
    values = drawn(2, 20, 3, seed=1)
    assert_equal(layer(Field(values, constant)).values, values, 0)


def test_a_filtered_network_sees_as_far_as_it_says():
    cnn = small()
    values = drawn(1, 128, 2).requires_grad_()
    cnn(Field(values, drawn(2, seed=1))).values[0, 64].sum().backward()
    gradient = values.grad.abs().sum(2)[0]
    far = (torch.arange(128) - 64).abs() > cnn.receptive_radius
    assert cnn.receptive_radius == 2 * 5 + cnn.behind.receptive_radius
    assert gradient[far].max() < 1e-12  # transforms round, everywhere
    assert gradient[~far].max() > 1e-3


@pytest.mark.parametrize("layers, reach", [(1, 3), (1, 5), (2, 5)])
@pytest.mark.parametrize("first", [0, -2, -12])
def test_a_tight_grid_gives_what_a_long_one_gives(layers, reach, first):
    cnn, beyond, values = small(layers, reach), drawn(2, seed=1), drawn(1, 24, 2, seed=2)
    before = 4 * -(-cnn.receptive_radius // 4) + first % 4
    long = beyond.expand(1, before + 24 + cnn.receptive_radius, 2)
    long = torch.cat([long, beyond.expand(1, -long.shape[1] % 4, 2)], 1).clone()
    long[:, before : before + 24] = values
    tight = cnn(Field(values, beyond), first=first)
    assert cnn.takes_tight_grids
    assert_equal(tight.values, cnn(Field(long, beyond)).values[:, before : before + 24], 1e-12)


def test_a_plane_and_other_paddings_are_refused_in_a_sentence():
    with pytest.raises(SettingError, match="one input dimension and the padding 'unobserved'"):
        LongFilters(UNet(2))
    with pytest.raises(SettingError, match="leave the filters out"):
        LongFilters(UNet(1, padding="zeros"))
    with pytest.raises(SettingError, match="leave the filters out"):
        ConvCNP.residual(dim_x=2, filters=1)


def test_filters_stay_within_the_parameters_of_the_paper_s_larger_model():
    experiment = Experiment.load(ROOT / "experiments/table1/weakly-periodic-convcnp-ours.toml")
    assert ConvCNP.residual().num_parameters < experiment.build_model().num_parameters <= 51_000


def test_an_observation_out_of_reach_moves_nothing_in_single_precision_either():
    model = lively(ConvCNP.residual(filters=2)).float().eval()
    x, y = [0.0, 0.3, 0.5], [1.0, -1.0, 0.5]
    far = model.receptive_radius + 1.5
    near = model(Task.from_arrays(x, y, [0.1, 0.4]))
    beside = model(Task.from_arrays([*x, far], [*y, 1e4], [0.1, 0.4]))
    assert_equal(beside.mean / near.mean, torch.ones(1, 2, 1), 1e-6)


def test_filters_work_in_half_precision():
    model = ConvCNP.residual(filters=1)
    task = Task.from_arrays([0.0, 0.3, 0.5], [1.0, -1.0, 0.5], [0.1, 0.4])
    exact = model(task).mean
    with torch.autocast("cpu", torch.bfloat16):
        predictive = model(task)
        predictive.mean.sum().backward()
    assert_equal(predictive.mean.float(), exact, 0.05)
    assert model.cnn.layers[0].kernels.grad.abs().sum() > 0
    assert_equal(model.bfloat16()(task).mean.float(), exact, 0.05)
