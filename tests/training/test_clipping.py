"""Gradients are shortened together, and only where they are too long."""

import copy
import math

import pytest
import torch
from torch.nn import Parameter
from torch.nn.utils import clip_grad_norm_

from convcnp.training.clipping import clip


def weights() -> list[Parameter]:
    """Return weights of several shapes, one of which nothing depends on."""
    generator = torch.Generator().manual_seed(0)
    found = [Parameter(torch.zeros(shape)) for shape in ((3, 4), (5,), (), (2,))]
    for weight in found[:-1]:
        weight.grad = torch.randn(weight.shape, generator=generator)
    return found


@pytest.mark.parametrize("largest", [0.5, 100.0])
def test_it_is_what_torch_does(largest):
    own, torch_s = weights(), weights()
    assert clip(own, largest) == pytest.approx(clip_grad_norm_(torch_s, largest).item())
    for one, other in zip(own[:-1], torch_s[:-1], strict=True):
        torch.testing.assert_close(one.grad, other.grad)
    assert own[-1].grad is None


def test_a_gradient_without_a_length_is_left_for_the_loop_to_refuse():
    own = weights()
    own[0].grad[0, 0] = math.inf
    before = copy.deepcopy(own[1].grad)
    assert clip(own, 1.0) == math.inf
    assert (own[1].grad == before).all()
