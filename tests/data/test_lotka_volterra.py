"""The predator-prey simulator: its distribution, its ends, and the tasks made from it."""

import random
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from convcnp import Task
from convcnp.data import lotka_volterra
from convcnp.data.lotka_volterra import (
    BROAD,
    UNIT,
    LotkaVolterraSource,
    Outcome,
    Rates,
    Run,
    gillespie,
    simulator,
)
from convcnp.data.source import NamedSource, seeded
from convcnp.errors import MissingExtraError, SettingError

TINY = 1e-12
# Small populations that die out soon, so that a plain loop is quick.
SMALL = LotkaVolterraSource(
    rates=Rates(
        theta_1=(0.05, 0.05),
        theta_4=(0.05, 0.05),
        predators=(10, 10),
        prey=(20, 20),
        scale=(1, 1),
    ),
    max_time=12.0,
    max_events=500,
)


def run_by_hand(rng, thetas, predators, prey, max_time, max_events, watched):
    """Gillespie's algorithm as the appendix tells it, and the populations at a watched time."""
    time, events, seen = 0.0, 0, None
    while True:
        rates = [
            thetas[0] * predators * prey,
            thetas[1] * predators,
            thetas[2] * prey,
            thetas[3] * predators * prey,
        ]
        after = time + rng.expovariate(sum(rates))
        if seen is None and after > watched:
            seen = (prey, predators)
        if after >= max_time:
            return Outcome.SURVIVED, seen
        if events == max_events:
            return Outcome.EXPLODED, seen
        time, events = after, events + 1
        which = rng.random() * sum(rates)
        if which < rates[0]:
            predators += 1
        elif which < sum(rates[:2]):
            predators -= 1
        elif which < sum(rates[:3]):
            prey += 1
        else:
            prey -= 1
        if prey == 0:
            return Outcome.PREY_DIED_OUT, seen
        if predators == 0:
            return Outcome.PREDATORS_DIED_OUT, seen


def test_moments_and_ends_are_those_of_a_plain_event_loop():
    num_runs, watched = 1000, 1.5
    rng = random.Random(0)
    plain = [
        run_by_hand(rng, (0.05, 0.5, 1.0, 0.05), 10, 20, 12.0, 500, watched)
        for _ in range(num_runs)
    ]
    simulations = SMALL.runs(np.random.default_rng(0))
    ours = [next(simulations) for _ in range(num_runs)]
    ends = Counter(run.outcome for run in ours)
    for outcome, count in Counter(outcome for outcome, _ in plain).items():
        share = count / num_runs
        error = (2 * share * (1 - share) / num_runs) ** 0.5
        assert abs(ends[outcome] / num_runs - share) < 4 * error, outcome
    assert len(ends) == 4  # every way to end is met
    expected = np.array([seen for _, seen in plain if seen is not None], dtype=float)
    found = np.array([run.at(np.array([watched]))[0] for run in ours if run.end > watched])
    for power in (1, 2):
        a, b = expected**power, found**power
        error = np.sqrt(a.var(0) / len(a) + b.var(0) / len(b))
        assert (np.abs(a.mean(0) - b.mean(0)) < 4 * error).all()
    correlation = [np.corrcoef(values.T)[0, 1] for values in (expected, found)]
    assert correlation[0] == pytest.approx(correlation[1], abs=0.12)


def test_compiled_and_plain_give_the_same_numbers():
    results = []
    for simulate in (simulator(), gillespie):
        times, populations = np.zeros(400), np.zeros((400, 2))
        populations[0] = 100, 50
        theta = np.array([0.01, 0.5, 1.0, 0.01])
        end = simulate(np.random.default_rng(3), theta, 1.5, times, populations)
        results.append((end, times, populations))
    (end, *rows), (plain_end, *plain_rows) = results
    assert end == plain_end
    for compiled, plain in zip(rows, plain_rows, strict=True):
        np.testing.assert_array_equal(compiled, plain)


@pytest.mark.parametrize(
    ("event", "change"), [(1, (0, 1)), (2, (0, -1)), (3, (1, 0)), (4, (-1, 0))]
)
def test_each_rate_belongs_to_its_event(event, change):
    thetas = {f"theta_{i}": (TINY, TINY) for i in range(1, 5)} | {f"theta_{event}": (0.5, 0.5)}
    run = next(LotkaVolterraSource(rates=Rates(**thetas)).runs(np.random.default_rng(0)))
    steps = np.diff(run.populations, axis=0)
    assert (steps == change).all()


def test_predators_alone_decay_at_their_rate():
    rates = Rates((TINY, TINY), (0.5, 0.5), (TINY, TINY), (TINY, TINY), scale=(1, 1))
    runs = LotkaVolterraSource(rates=rates, max_time=2.0).runs(np.random.default_rng(0))
    left = [next(runs).at(np.array([1.9]))[0, 1] for _ in range(400)]
    assert np.mean(left) == pytest.approx(50 * np.exp(-0.5 * 1.9), rel=0.03)


def test_a_run_keeps_its_population_until_the_next_event():
    run = Run(
        times=np.array([0.0, 1.0, 3.0]),
        populations=np.array([[10.0, 5.0], [11.0, 5.0], [11.0, 4.0]]),
        end=4.0,
        outcome=Outcome.SURVIVED,
        scale=0.5,
    )
    states = run.at(np.array([0.0, 0.99, 1.0, 3.5]))
    assert states.tolist() == [[5.0, 2.5], [5.0, 2.5], [5.5, 2.5], [5.5, 2.0]]


def test_every_run_is_counted_and_the_papers_rates_end_as_they_should():
    census = LotkaVolterraSource().census(1000, seeded(1))
    ends = [census[outcome.name.lower()] for outcome in Outcome]
    assert sum(ends) == census["runs"] == 1000
    assert census["kept"] == ends[Outcome.PREY_DIED_OUT] + ends[Outcome.PREDATORS_DIED_OUT]
    assert census["kept"] == pytest.approx(640, abs=60)  # 124 of 200 with a plain event loop
    assert census["survived"] == 0  # 10,000 events take about 50 units of time


def test_only_runs_that_end_as_asked_are_kept():
    runs = SMALL.kept_runs(np.random.default_rng(0))
    ends = {next(runs).outcome for _ in range(200)}
    assert ends == {Outcome.PREY_DIED_OUT, Outcome.PREDATORS_DIED_OUT}
    source = replace(SMALL, kept=(Outcome.SURVIVED,))
    runs = source.kept_runs(np.random.default_rng(0))
    assert {next(runs).end for _ in range(20)} == {12.0}


def test_runs_that_are_never_kept_are_refused_with_their_count(monkeypatch):
    monkeypatch.setattr(lotka_volterra, "_PATIENCE", 20)
    source = replace(SMALL, kept=(Outcome.EXPLODED,), max_events=10**6)
    with pytest.raises(SettingError, match=r"one of \['EXPLODED'\], but of 20 runs in a row none"):
        source.draw(1, seeded(0))


def test_a_task_has_150_points_of_which_3_to_80_are_context():
    source = LotkaVolterraSource()
    assert isinstance(source, NamedSource)
    sizes = set()
    for step in range(30):
        task = source.draw(2, seeded(step))
        assert task.context_mask.all()
        assert task.target_mask.all()
        assert task.x_context.shape[1] + task.x_target.shape[1] == 150
        sizes.add(task.x_context.shape[1])
    assert min(sizes) >= 3
    assert max(sizes) <= 80
    assert len(sizes) > 15


def test_held_out_tasks_have_sizes_of_their_own():
    task = LotkaVolterraSource().held_out("test").draw(40, seeded(0))
    context, target = (mask.any(-1).sum(1) for mask in (task.context_mask, task.target_mask))
    assert (context + target == 150).all()
    assert len(context.unique()) > 15


def test_tasks_follow_from_the_generator_alone():
    draws = [LotkaVolterraSource().draw(3, seeded(*key)) for key in ((1, 2), (1, 2), (1, 3))]
    assert torch.equal(draws[0].y_context, draws[1].y_context)
    assert torch.equal(draws[0].x_target, draws[1].x_target)
    assert not torch.equal(draws[0].y_target[:, :10], draws[2].y_target[:, :10])


def test_populations_are_whole_animals_scaled_by_two_sevenths_and_alive():
    task = LotkaVolterraSource().draw(20, seeded(0))
    animals = task.y_target.double() * UNIT * 7 / 2
    assert (animals - animals.round()).abs().max() < 1e-3
    assert animals.min() >= 1
    assert 150 < animals.max() < 3000
    assert task.x_target.min() >= 0
    assert task.x_target.max() <= 100


def test_observations_are_spread_evenly_over_a_run():
    source = replace(SMALL, kept=(Outcome.SURVIVED,))
    x = source.draw(20, seeded(0)).x_target
    assert x.mean() == pytest.approx(6.0, abs=0.3)
    assert x.max() > 11.5


def test_the_broad_prior_draws_each_rate_from_its_range():
    rng = np.random.default_rng(0)
    draws = np.stack([BROAD.draw(rng) for _ in range(2000)])
    ranges = np.array(list(vars(BROAD).values()))
    assert (draws >= ranges[:, 0]).all()
    assert (draws <= ranges[:, 1]).all()
    np.testing.assert_allclose(
        np.median(draws, 0), np.sqrt(ranges.prod(1)), rtol=0.08
    )  # log-uniform


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rates(theta_1=(0.2, 0.1)), r"theta_1 must be a range \(low, high\), got \(0.2"),
        (lambda: Rates(prey=(0, 1)), "the lower end of prey must be a positive number"),
        (lambda: LotkaVolterraSource(max_context=150), "max_context < num_points, got 3, 150"),
        (lambda: LotkaVolterraSource(max_time=0), "max_time must be a positive number"),
        (lambda: LotkaVolterraSource(max_events=0), "max_events must be a positive number"),
    ],
)
def test_an_impossible_source_is_refused(make, message):
    with pytest.raises(SettingError, match=message):
        make()


def test_without_numba_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[simulation\]'"):
        simulator.__wrapped__()


def test_a_users_thousands_become_the_units_of_tasks():
    task = Task.from_arrays([1845.0, 1846.0], [[50.0, 20.0], [30.0, 10.0]], [1847.0])
    units = LotkaVolterraSource().normaliser.units(task)
    found = units.to_model(task).y_context.flatten().tolist()
    assert found == pytest.approx([0.5, 0.2, 0.3, 0.1])
    assert units.to_model(task).x_context.flatten().tolist() == [1845.0, 1846.0]
