"""The AttnCNP: attention by hand."""

import math

import pytest
import torch

from convcnp.errors import SettingError
from convcnp.models.attncnp import Attention, AttnCNP
from helpers import assert_equal, lively

nan = float("nan")


@pytest.mark.parametrize(("build", "count"), [(AttnCNP, 149_250), (AttnCNP.for_images, 335_490)])
def test_parameter_counts_are_the_published_ones(build, count):
    assert build().num_parameters == count


def test_attention_is_a_softmax_over_present_points():
    attention = lively(Attention(width=6, num_heads=2))
    generator = torch.Generator().manual_seed(0)
    queries, keys, values = (
        torch.randn(1, n, 6, dtype=torch.float64, generator=generator) for n in (3, 4, 4)
    )
    present = torch.tensor([[True, False, True, True]])
    expected = []
    for query in attention.query(queries)[0]:
        mixed = []
        for head in (slice(0, 3), slice(3, 6)):
            scores = attention.key(keys)[0, present[0], head] @ query[head] / math.sqrt(3)
            weights = scores.exp() / scores.exp().sum()
            mixed.append(weights @ attention.value(values)[0, present[0], head])
        expected.append(attention.output(torch.cat(mixed)))
    assert_equal(attention(queries, keys, values, present)[0], torch.stack(expected))


def test_self_attention_lets_context_points_know_of_each_other():
    model = lively(AttnCNP(self_attention=2)).eval()
    assert len(model.self_attention) == 2
    layer, points = model.self_attention[0], torch.randn(1, 3, 128).double()
    changed = points.clone()
    changed[0, 1] += 1
    everyone = torch.ones(1, 3, dtype=torch.bool)
    assert (layer(changed, everyone) - layer(points, everyone))[0, 0].abs().max() > 1e-3
    without = torch.tensor([[True, False, True]])
    assert_equal(layer(changed, without)[:, [0, 2]], layer(points, without)[:, [0, 2]])


@pytest.mark.parametrize("width, num_heads", [(128, 0), (128, -2), (10, 4)])
def test_heads_divide_the_width(width, num_heads):
    expected = f"width must be a multiple of num_heads, got {width} and {num_heads}; 128 and 8"
    with pytest.raises(SettingError, match=expected):
        AttnCNP(width=width, num_heads=num_heads)


def test_a_number_of_self_attention_layers_is_not_negative():
    with pytest.raises(SettingError, match=r"self_attention must be .*, got -1"):
        AttnCNP(self_attention=-1)


@pytest.mark.parametrize("dim_x", [1, 2])
def test_detail_bends_units_at_places_all_over_the_inputs(dim_x):
    torch.manual_seed(0)
    layer = AttnCNP(dim_x, detail=16.0).input_embedding[0]
    steepness = layer.weight.norm(dim=1)
    distance = layer.bias.abs() / steepness  # of the bend from the origin
    assert steepness.median() > 8 * AttnCNP(dim_x).input_embedding[0].weight.norm(dim=1).median()
    assert (distance <= math.sqrt(dim_x)).all()
    assert 0.3 < distance.mean() < 0.7  # neither all at the origin nor all beyond


def test_detail_is_positive():
    with pytest.raises(SettingError, match="detail must be a positive number"):
        AttnCNP(detail=0.0)
