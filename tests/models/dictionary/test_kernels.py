import math

import pytest
import torch

from convcnp.models.dictionary.catalogue import Catalogue, entries_for
from convcnp.models.dictionary.kernels import rhythm
from convcnp.models.gaussian_process import EQ, Matern52


def test_the_dictionary_holds_several_hundred_entries():
    entries = entries_for(Catalogue(), [7.0, 30.0], 100)
    assert 300 <= len(entries) <= 400


def test_every_kernel_has_variance_one_and_no_negative_eigenvalue():
    entries = entries_for(Catalogue(), [7.0, 30.0], 100)
    x = torch.rand(30, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 40
    matrices = entries.kernels((x[:, None] - x).abs())
    torch.testing.assert_close(
        matrices.diagonal(dim1=1, dim2=2), torch.ones(len(matrices), 30).double()
    )
    assert torch.linalg.eigvalsh(matrices).min() > -1e-10


def test_periodic_entries_pay_for_being_the_best_of_many():
    # The logarithm of their number, and of few observations up to twice as much.
    for count, price in ((8, 2 * math.log(8)), (10_000, math.log(10_000))):
        entries = entries_for(Catalogue(), [7.0], count)
        is_periodic = (entries.weights[:, entries.bases.period.isfinite()] > 0).any(1)
        found = entries.log_prior[is_periodic[entries.kernel]]
        torch.testing.assert_close(found, torch.full_like(found, -price), atol=1e-4, rtol=0)
        assert (entries.log_prior[~is_periodic[entries.kernel]] == 0).all()


@pytest.mark.parametrize("sharpness", [0.0, 1.5])
def test_a_rhythm_repeats_and_has_mean_zero(sharpness):
    lag = torch.arange(700).double() / 100
    sharp = torch.full((2, 1), sharpness).double()
    periods = torch.tensor([[7.0], [3.5]]).double()
    slow, fast = rhythm(lag, sharp, periods)
    assert slow[0] == fast[0] == 1
    assert max(slow.mean().abs(), fast.mean().abs()) < 1e-9
    again, _ = rhythm(lag + 7e4, sharp, periods)
    torch.testing.assert_close(again, slow, atol=1e-8, rtol=0)
    torch.testing.assert_close(fast[:350], slow[::2], atol=1e-12, rtol=0)


def test_kernels_far_beyond_their_length_are_nothing_in_any_precision():
    entries = entries_for(Catalogue(), [], 10)
    for dtype, nothing in ((torch.float32, 1e-10), (torch.float64, 1e-90)):
        far = entries.kernels(torch.tensor([1e6, 1e12], dtype=dtype))
        assert far.dtype == dtype and far.min() >= 0 and far.max() < nothing
        # Products of what is left are numbers that processors do not stumble over.
        assert far.min() ** 2 > torch.finfo(dtype).tiny


def test_taking_some_entries_leaves_them_as_they_are():
    entries = entries_for(Catalogue(), [7.0], 50)
    chosen = torch.tensor([180, 3, 77])
    lag = torch.linspace(0, 20, 9).double()
    some = entries[chosen]
    torch.testing.assert_close(
        some.kernels(lag)[some.kernel], entries.kernels(lag)[entries.kernel[chosen]]
    )
    assert len(some.bases.shape) < len(entries.bases.shape)


def test_single_kernels_agree_with_those_of_exact_processes():
    entries = entries_for(Catalogue(smooth=(4.0,), rough=(), roughest=(), slow=()), [], 10)
    x = torch.linspace(0, 9, 5).double()
    expected = EQ(4.0)(x[None, :1, None], x[None, :, None])[0, 0]
    torch.testing.assert_close(entries.kernels(x)[0], expected)
    assert Matern52(4.0)(x[None, :1, None], x[None, :, None])[0, 0, -1] > expected[-1]
