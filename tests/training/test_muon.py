"""Steps of matrices in which all directions are equally long."""

import pytest
import torch

from convcnp import ConvCNP, GridConvCNP
from convcnp.data.functions import GPSource
from convcnp.training.loop import train
from convcnp.training.muon import Muon, orthogonal
from helpers import seeded_model, small_training


def stepped(gradient, **settings):
    """Return how a parameter of zeros moves in one step, by its gradient."""
    parameter = torch.nn.Parameter(torch.zeros_like(gradient))
    parameter.grad = gradient.clone()
    Muon([parameter], lr=0.01, **settings).step()
    return parameter.detach()


@pytest.mark.parametrize("shape", [(3, 8, 8), (2, 8, 40), (2, 40, 8), (1, 128, 128)])
def test_singular_values_become_about_one_and_directions_stay(shape):
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    left, _, right = torch.linalg.svd(matrices, full_matrices=False)
    turned = orthogonal(matrices)
    within = left.mT @ turned @ right.mT  # diagonal, in the directions of the matrices
    values = within.diagonal(dim1=1, dim2=2)
    assert values.median() == pytest.approx(1, abs=0.3)
    assert values.max() < 1.3
    torch.testing.assert_close(within, torch.diag_embed(values), atol=1e-4, rtol=0)


def test_a_matrix_moves_against_its_gradient_whatever_its_size():
    gradient = torch.eye(16)
    step = stepped(gradient)
    assert (step.diagonal() < 0).all()
    torch.testing.assert_close(step, stepped(1e-3 * gradient), atol=1e-5, rtol=0)
    # As long as a step of Adam's that has settled: 0.2 of the learning rate, root mean square.
    assert step.square().mean().sqrt() == pytest.approx(0.2 * 0.01, rel=0.3)


@pytest.mark.parametrize("shape", [(16,), (2, 16), (16, 2), (16, 1, 5, 5)])
def test_what_mixes_no_channels_is_left_to_adam(shape):
    gradient = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(stepped(gradient), -0.01 * gradient.sign(), atol=1e-6, rtol=0)


def test_a_kernel_moves_as_the_matrix_that_it_is():
    gradient = torch.randn(8, 8, 5, generator=torch.Generator().manual_seed(0))
    assert torch.equal(stepped(gradient).view(8, 40), stepped(gradient.view(8, 40)))


def test_weights_decay():
    parameter = torch.nn.Parameter(torch.ones(8, 8))
    parameter.grad = torch.zeros(8, 8)
    Muon([parameter], lr=0.1, weight_decay=0.5).step()
    torch.testing.assert_close(parameter.detach(), torch.full((8, 8), 0.95))


def test_momentum_remembers_earlier_gradients():
    parameter = torch.nn.Parameter(torch.zeros(8, 8))
    optimizer = Muon([parameter], lr=0.01)
    for gradient in (torch.eye(8), torch.zeros(8, 8)):
        parameter.grad = gradient
        before = parameter.detach().clone()
        optimizer.step()
    assert (parameter.detach() - before).diagonal().max() < 0


@pytest.mark.parametrize("model", [ConvCNP.small(), ConvCNP.xl(), GridConvCNP.small(dim_y=3)])
def test_most_weights_of_a_network_are_matrices(model):
    optimizer = Muon(model.parameters(), lr=1e-3)
    turned = sum(p.numel() for group in optimizer._alike.values() for p in group)
    kernels = sum(p.numel() for p in model.parameters() if p.ndim == 4 and p.shape[1] == 1)
    assert turned > 0.8 * (model.num_parameters - kernels)


def test_a_closure_is_called_with_gradients():
    parameter = torch.nn.Parameter(torch.ones(8, 8))
    optimizer = Muon([parameter], lr=0.1)

    def closure():
        loss = parameter.square().sum()
        loss.backward()
        return loss

    assert optimizer.step(closure) == 64
    assert parameter.sum() < 64


def test_a_run_goes_on_with_the_weights_it_would_have_had(tmp_path):
    whole, begun = seeded_model(), seeded_model()
    train(whole, GPSource(), small_training(optimizer="muon"), tmp_path / "whole")

    class StopError(Exception):
        pass

    def stop(progress, metrics):
        if progress.step == 4:
            raise StopError

    with pytest.raises(StopError):
        train(begun, GPSource(), small_training(optimizer="muon"), tmp_path / "begun", report=stop)
    again = seeded_model()
    train(again, GPSource(), small_training(optimizer="muon"), tmp_path / "begun", resume=True)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name
