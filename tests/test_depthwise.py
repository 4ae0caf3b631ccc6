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
@pytest.mark.parametrize("size, padding", [(3, 1), (5, 2), (5, 0), (7, 3), (9, 1), (11, 5)])
def test_values_and_gradients_are_those_of_a_convolution(size, padding, channels_last):
    def run(convolve):
        h = drawn(2, 3, 12, 14, seed=0)
        if channels_last:
            h = h.contiguous(memory_format=torch.channels_last)
        inputs = [h, drawn(3, 1, size, size, seed=1), drawn(3, seed=2)]
        inputs = [tensor.requires_grad_() for tensor in inputs]
        out = convolve(*inputs)
        return [out.detach(), *torch.autograd.grad((out * drawn(*out.shape, seed=3)).sum(), inputs)]

    expected = run(lambda h, weight, bias: conv2d(h, weight, bias, padding=padding, groups=3))
    ours = run(lambda h, weight, bias: depthwise(h, weight, bias, padding=padding))
    for actual, wanted in zip(ours, expected, strict=True):
        assert_equal(actual, wanted, 1e-10)
