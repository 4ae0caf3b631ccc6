"""The quick gradient of depthwise convolutions is torch's."""

import pytest
import torch
from torch.nn.functional import conv2d

from convcnp.depthwise import depthwise
from helpers import assert_equal


def drawn(*shape: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


@pytest.mark.parametrize("channels_last", [True, False])
@pytest.mark.parametrize(
    "size, padding",
    [
        ((3, 3), (1, 1)),
        ((5, 5), (2, 2)),
        ((5, 5), (0, 0)),
        ((7, 7), (3, 3)),
        ((9, 9), (1, 3)),
        ((11, 11), (5, 5)),
        ((1, 5), (0, 2)),
        ((3, 7), (1, 3)),
    ],
)
def test_values_and_gradients_are_those_of_a_convolution(size, padding, channels_last):
    def run(convolve):
        h = drawn(2, 3, 12, 14, seed=0)
        if channels_last:
            h = h.contiguous(memory_format=torch.channels_last)
        inputs = [h, drawn(3, 1, *size, seed=1), drawn(3, seed=2)]
        inputs = [tensor.requires_grad_() for tensor in inputs]
        out = convolve(*inputs)
        return [out.detach(), *torch.autograd.grad((out * drawn(*out.shape, seed=3)).sum(), inputs)]

    expected = run(lambda h, weight, bias: conv2d(h, weight, bias, padding=padding, groups=3))
    ours = run(lambda h, weight, bias: depthwise(h, weight, bias, padding=padding))
    for actual, wanted in zip(ours, expected, strict=True):
        assert_equal(actual, wanted, 1e-10)


def test_a_gradient_that_is_not_channel_last_is_taken_too():
    h, weight, bias = drawn(1, 2, 6, 7, seed=0), drawn(2, 1, 5, 5, seed=1), drawn(2, seed=2)
    inputs = [tensor.requires_grad_() for tensor in (h, weight, bias)]
    assert torch.autograd.gradcheck(lambda *t: depthwise(*t, padding=(2, 2)).mT, inputs)


def test_the_quick_way_is_taken_where_gradients_are_wanted():
    h, weight, bias = drawn(1, 2, 6, 7, seed=0), drawn(2, 1, 5, 5, seed=1), drawn(2, seed=2)
    wanted = depthwise(h.requires_grad_(), weight, bias, padding=(2, 2))
    assert type(wanted.grad_fn).__name__ == "_DepthwiseBackward"
    with torch.no_grad():
        assert depthwise(h, weight, bias, padding=(2, 2)).grad_fn is None
