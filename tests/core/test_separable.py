"""The quick gradient of separable convolutions is torch's."""

import pytest
import torch
from torch.nn.functional import conv2d

from convcnp.core.convolution import Convolution, Image
from convcnp.core.separable import SeparableConvolution, separable
from helpers import assert_equal, lively


def drawn(*shape: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


def arguments(size=(5, 5), image=(2, 12, 14)) -> list[torch.Tensor]:
    batch, height, width = image
    shapes = [(batch, 3, height, width), (3,), (3, 1, *size), (3,), (4, 3, 1, 1), (4,)]
    return [drawn(*shape, seed=seed).requires_grad_() for seed, shape in enumerate(shapes)]


def in_torch(h, level, kernel, response, mixing, bias, *, padding):
    around = torch.relu(h) - level[:, None, None]
    return conv2d(conv2d(around, kernel, response, padding=padding, groups=3), mixing, bias)


@pytest.mark.parametrize("channels_last", [True, False])
@pytest.mark.parametrize(
    "size, padding",
    [
        ((1, 1), (0, 0)),
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
def test_values_and_gradients_are_those_of_convolutions(size, padding, channels_last):
    def run(convolve):
        given = arguments(size)
        h, *others = given
        if channels_last:
            h = h.contiguous(memory_format=torch.channels_last)
        out = convolve(h, *others, padding=padding)
        return [out.detach(), *torch.autograd.grad((out * drawn(*out.shape, seed=9)).sum(), given)]

    for actual, wanted in zip(run(separable), run(in_torch), strict=True):
        assert_equal(actual, wanted, 1e-10)


def test_a_gradient_that_is_not_channel_last_is_taken_too():
    given = arguments(image=(1, 6, 7))
    assert torch.autograd.gradcheck(lambda *t: separable(*t, padding=(2, 2)).mT, given)


def test_the_input_is_left_as_it_was():
    h, *others = arguments()
    before = h.detach().clone()
    separable(h, *others, padding=(2, 2)).sum().backward()
    assert_equal(h.detach(), before, 0)


def test_mixed_precision_is_left_to_torch():
    given = [tensor.detach().float().requires_grad_() for tensor in arguments()]
    with torch.autocast("cpu", torch.bfloat16):
        separable(*given, padding=(2, 2)).float().sum().backward()
    assert all(tensor.grad.isfinite().all() for tensor in given)


def test_the_quick_way_is_taken_where_gradients_are_wanted():
    given = arguments()
    assert type(separable(*given, padding=(2, 2)).grad_fn).__name__ == "_SeparableBackward"
    with torch.no_grad():
        assert separable(*given, padding=(2, 2)).grad_fn is None


@pytest.mark.parametrize("padding", ["unobserved", "zeros", "circular"])
def test_a_separable_convolution_is_one_of_what_relu_leaves_with_a_kernel_of_rank_one(padding):
    layer = lively(SeparableConvolution(2, 3, kernel_size=5, padding=padding))
    whole = Convolution(2, 3, 3, kernel_size=5, padding=padding).double()
    mixing = layer.pointwise.weight[:, :, 0, 0]
    with torch.no_grad():
        whole.conv.weight.copy_(mixing[:, :, None, None] * layer.depthwise.weight[:, 0])
        whole.conv.bias.copy_(mixing @ layer.depthwise.bias + layer.pointwise.bias)
    h, beyond = drawn(2, 3, 7, 8, seed=0), drawn(3, seed=0)
    expected = whole(Image(h.relu(), beyond.relu()))
    for actual, wanted in zip(layer(h, beyond), expected, strict=True):
        assert_equal(actual, wanted, 1e-12)
