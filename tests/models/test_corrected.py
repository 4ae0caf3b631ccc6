"""The corrected dictionary: itself before training, and indifferent to units, order and targets."""

import numpy as np
import pytest
import torch

from convcnp import load
from convcnp.core.task import Task
from convcnp.data.simulated_series import SimulatedSeries
from convcnp.data.source import seeded
from convcnp.models.corrected import CorrectedDictionary
from helpers import assert_equal, rebuilt


def trained_by_chance(seed=0):
    """Return a model whose correction is large and random."""
    torch.manual_seed(seed)
    model = CorrectedDictionary().eval()
    with torch.no_grad():
        for parameter in model.network[-1].parameters():
            parameter.normal_(0, 0.1)
    return model


def some_task(step=0):
    return SimulatedSeries(max_points=40).draw(3, seeded(1, step))


@torch.no_grad()
def quantiles(model, task):
    predictive = model(task)
    return torch.stack([predictive.quantile(level) for level in (0.05, 0.5, 0.9)])


def test_before_training_it_is_the_dictionary():
    model, task = CorrectedDictionary(), some_task()
    base = model.dictionary(task)
    predictive = model(task)
    assert_equal(predictive.log_prob(task.y_target).detach(), base.log_prob(task.y_target), 1e-9)
    spread = base.stddev.clamp(min=1e-12)
    assert_equal((predictive.mean.detach() - base.mean) / spread, torch.zeros_like(spread), 1e-9)


def test_every_weight_learns():
    model, task = trained_by_chance(), some_task()
    model.train()
    (-model(task).log_likelihood(task.y_target)).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name


def test_components_that_begin_alike_do_not_stay_alike():
    torch.manual_seed(0)
    model, task = CorrectedDictionary(), some_task()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(2):
        optimizer.zero_grad()
        (-model(task).log_likelihood(task.y_target)).sum().backward()
        optimizer.step()
    change = model(task).change
    assert (change.means[..., 0] - change.means[..., 1]).abs().max() > 1e-3


@pytest.mark.parametrize("unit, shift", [(1.0, 1.7e9), (3600.0, 0.0), (2**-8, -4.0)])
def test_units_and_shifts_of_time_do_not_matter(unit, shift):
    model, task = trained_by_chance(), some_task()
    x = {n: (getattr(task, n) * 2**20).round() / 2**20 for n in ("x_context", "x_target")}
    task = rebuilt(task, **x)
    moved = rebuilt(task, **{n: unit * v + shift for n, v in x.items()})
    spread = model.dictionary(task).stddev.clamp(min=1e-12)
    difference = (quantiles(model, moved) - quantiles(model, task)) / spread
    assert difference[:, task.target_mask].abs().max() < 1e-4


def test_units_of_values_are_those_of_the_predictions():
    model, task = trained_by_chance(), some_task()
    scaled = rebuilt(task, y_context=1000 * task.y_context, y_target=1000 * task.y_target)
    expected = 1000 * quantiles(model, task)
    spread = 1000 * model.dictionary(task).stddev.clamp(min=1e-12)
    difference = (quantiles(model, scaled) - expected) / spread
    assert difference[:, task.target_mask].abs().max() < 1e-4


def test_order_other_targets_and_other_tasks_do_not_matter():
    model = trained_by_chance()
    task = some_task()[0].packed()
    backwards = torch.arange(task.x_context.shape[1] - 1, -1, -1)
    turned = rebuilt(
        task,
        x_context=task.x_context[:, backwards],
        y_context=task.y_context[:, backwards],
        context_mask=task.context_mask[:, backwards],
    )
    reference = quantiles(model, task)
    spread = model.dictionary(task).stddev.clamp(min=1e-12)
    asked = task.target_mask
    assert ((quantiles(model, turned) - reference) / spread)[:, asked].abs().max() < 1e-5
    alone = Task(task.x_context, task.y_context, task.x_target[:, :1])
    few = (quantiles(model, alone) - reference[:, :, :1]) / spread[:, :1]
    assert few.abs().max() < 1e-5
    together = Task.stack([some_task(5)[0], task])
    many = quantiles(model, together)[:, 1:, : task.x_target.shape[1]]
    assert ((many - reference) / spread)[:, asked].abs().max() < 1e-5


@pytest.mark.parametrize("values", [[], [3.0], [2.0, 2.0], [1.0, 2.0], [5.0] * 9])
def test_few_or_equal_values_are_predicted(values):
    task = Task.from_arrays(list(range(len(values))), values, [0.5, 40.0])
    predictive = trained_by_chance()(task)
    for moment in (predictive.mean, predictive.stddev, predictive.quantile(0.95)):
        assert moment.isfinite().all()
    assert (predictive.stddev > 0).all()


def test_channels_are_series_of_their_own():
    one, two = trained_by_chance(), trained_by_chance()
    both = CorrectedDictionary(dim_y=2).eval()
    both.load_state_dict(one.state_dict())
    task = some_task()[0].packed()
    doubled = Task(
        task.x_context,
        torch.cat([task.y_context, 3 - task.y_context], -1),
        task.x_target,
        context_mask=task.context_mask.expand(-1, -1, 2),
    )
    flipped = Task(task.x_context, 3 - task.y_context, task.x_target, None, task.context_mask)
    found = quantiles(both, doubled)
    spread = one.dictionary(task).stddev.clamp(min=1e-12)
    assert ((found[..., :1] - quantiles(one, task)) / spread).abs().max() < 1e-5
    assert ((found[..., 1:] - quantiles(two, flipped)) / spread).abs().max() < 1e-5


def test_curves_are_the_dictionary_s_before_training_and_within_the_bands_after():
    task = some_task()[:1]
    untrained, trained = CorrectedDictionary(), trained_by_chance()
    curves = untrained.draw(task, 5, torch.Generator().manual_seed(2))
    of_base = untrained.dictionary.draw(task, 5, torch.Generator().manual_seed(2))
    scores = untrained.dictionary(task).score(of_base[:, None]).abs()[:, 0]
    torch.testing.assert_close(curves[scores < 3.5], of_base[scores < 3.5], rtol=1e-3, atol=1e-3)
    changed = trained.draw(task, 400, torch.Generator().manual_seed(2))
    low, high = (trained(task).quantile(level) for level in (0.05, 0.95))
    inside = ((changed >= low) & (changed <= high))[:, task.target_mask[0]]
    assert 0.85 < inside.double().mean() < 0.95


def test_a_narrow_band_holds_the_mean_and_agrees_with_the_deviation():
    # What is next to impossible, an outlier as large as the series, must rule neither.
    random = np.random.default_rng(0)
    x = np.arange(400.0)
    y = 1000 + 100 * np.cumsum(random.standard_t(4, 400))
    predictive = load("general").model(Task.from_arrays(x, y, x[:-1:10] + 0.5))
    low, middle, high = (predictive.quantile(level) for level in (0.05, 0.5, 0.95))
    assert ((low < predictive.mean) & (predictive.mean < high)).all()
    assert ((predictive.mean - middle).abs() < 0.1 * (high - low)).all()
    assert (predictive.stddev < (high - low) / 2).all()  # of a Gaussian: 0.3
