"""Sources of tasks: sizes, ranges, determinism, and the processes themselves."""

import math
from dataclasses import dataclass

import pytest
import torch

from convcnp.data.functions import FunctionSource, GPSource, SawtoothSource
from convcnp.data.source import seeded
from convcnp.errors import SettingError
from convcnp.models.gaussian_process import EQ


def test_sizes_lie_between_3_and_the_maximum_and_are_shared_by_a_batch():
    sizes = set()
    for step in range(200):
        task = GPSource(kernel=EQ(), max_points=6).draw(2, seeded(step))
        assert task.context_mask.all()
        assert task.target_mask.all()
        sizes.add((task.x_context.shape[1], task.x_target.shape[1]))
    assert sizes == {(n, m) for n in range(3, 7) for m in range(3, 7)}


def test_sizes_can_be_drawn_for_every_task():
    task = SawtoothSource(sizes="task").draw(500, seeded(0))
    for mask in (task.context_mask, task.target_mask):
        counts = mask.sum((1, 2))
        assert counts.min() == 3
        assert counts.max() == 100
        assert counts.float().mean() == pytest.approx(51.5, abs=5)


def test_inputs_are_uniform_in_the_range():
    x = GPSource(kernel=EQ(), low=1.0, high=5.0).draw(2000, seeded(0)).x_context
    assert x.dtype == torch.float64
    assert 1.0 <= x.min() < 1.01
    assert 4.99 < x.max() <= 5.0
    assert x.mean() == pytest.approx(3.0, abs=0.1)


def test_context_and_targets_are_disjoint_points_of_one_function():
    task = SawtoothSource().draw(4, seeded(1))
    assert not torch.isin(task.x_target, task.x_context).any()


def test_draws_of_a_gp_have_its_covariance():
    x = torch.tensor([[[0.0], [0.1], [0.5]]], dtype=torch.float64).expand(20000, -1, -1)
    y = GPSource(kernel=EQ()).values(x, seeded(0))[..., 0]
    expected = EQ()(x[:1], x[:1])[0]
    torch.testing.assert_close(y.T @ y / len(y), expected, atol=0.03, rtol=0)


def sawtooth_by_hand(t, frequency, shift, terms):
    """The series of Appendix C.2, term by term."""
    total = 0.0
    for k in range(1, terms + 1):
        total += (-1) ** k * math.sin(2 * math.pi * k * frequency * (t - shift)) / k
    return 0.5 - total / math.pi


def test_a_sawtooth_is_the_truncated_series():
    x = torch.linspace(-2, 2, 9, dtype=torch.float64)[None, :, None]
    generator = seeded(3)
    unit = torch.rand(2, 1, 1, 1, dtype=torch.float64, generator=generator)
    terms = torch.randint(10, 21, (1, 1, 1), generator=generator).item()
    frequency, shift = 3 + 2 * unit[0].item(), 10 * unit[1].item() - 5
    expected = [sawtooth_by_hand(t.item(), frequency, shift, terms) for t in x.flatten()]
    drawn = SawtoothSource().values(x, seeded(3)).flatten().tolist()
    assert drawn == pytest.approx(expected, abs=1e-12)


def test_sawtooth_waves_repeat_with_frequencies_between_3_and_5():
    x = torch.linspace(0, 1, 2001, dtype=torch.float64)[None, :, None].expand(50, -1, -1)
    y = SawtoothSource().values(x, seeded(0))[..., 0] - 0.5
    crossings = ((y[:, 1:] < 0) & (y[:, :-1] >= 0)).sum(1)  # one steep fall per period
    assert crossings.min() >= 2
    assert crossings.max() <= 6


def test_a_new_source_is_one_method():
    @dataclass(frozen=True)
    class Lines(FunctionSource):
        def values(self, x, generator):
            return x * torch.randn(len(x), 1, 1, dtype=x.dtype, generator=generator)

    task = Lines().draw(2, seeded(0))
    slope = task.y_context / task.x_context.float()
    assert slope.std(1).max() < 1e-4
    assert Lines().ceiling(task) is None


def test_an_impossible_source_is_refused():
    with pytest.raises(
        SettingError, match=r"low < high and max_points >= 3, got low = 2.0, high = 1.0"
    ):
        GPSource(kernel=EQ(), low=2.0, high=1.0)


def test_curves_need_more_jitter_than_tasks():
    x = torch.linspace(-2, 2, 400, dtype=torch.float64)[None, :, None]
    assert GPSource().for_curves().values(x, seeded(0)).isfinite().all()
    assert SawtoothSource().for_curves() == SawtoothSource()
