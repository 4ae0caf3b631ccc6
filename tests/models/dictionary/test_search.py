import math

import numpy as np
import pytest
import torch

from convcnp.models.dictionary.catalogue import ENDLESS, Sampling, assembled
from convcnp.models.dictionary.kernels import EQ, MATERN12, Entries
from convcnp.models.dictionary.search import searched, with_exact_seasons
from convcnp.models.dictionary.variations import PossibleSeasons, items

SPAN = 100.0
TIMES = Sampling(np.linspace(0, SPAN, 1001))


def season(period: float, family: int = 1) -> Entries:
    exact = {(EQ, 1e6, period, 0.0): 1.0}
    plain = {(EQ, 5.0, math.inf, 0.0): 1.0}
    return assembled([(exact, (0.1,)), (plain, (0.1,))], [0.0, 0.0], [family, 0])


def peaked(at: float, noise: float):
    """Return an evidence with its top at a period and a noise."""
    asked: list[int] = []

    def evidence(entries: Entries) -> torch.Tensor:
        asked.append(len(entries))
        period = torch.stack(
            [entries.bases.period[row != 0][0] for row in entries.weights[entries.kernel]]
        )
        away = torch.where(period.isfinite(), (1 / period - 1 / at) * SPAN / 0.05, 3.0)
        return -(away**2) - (entries.noise / noise).log() ** 2

    return evidence, asked


@pytest.mark.parametrize("found", [11.6, 12.3])
def test_a_period_that_was_told_badly_is_put_right_with_the_noise(found):
    evidence, asked = peaked(at=12.0, noise=0.03)
    entries, score = searched(season(found), evidence(season(found)), evidence, TIMES, 2, 3)
    best = int(score.argmax())
    weights = entries.weights[entries.kernel[best]]
    assert float(entries.bases.period[weights != 0][0]) == pytest.approx(12.0, abs=0.02)
    assert float(entries.noise[best]) == pytest.approx(0.03, rel=0.1)
    assert len(entries) == len(score) == sum(asked)  # what is found twice is weighed once
    assert len({each.key for each in items(entries)}) == len(entries)
    torch.testing.assert_close(evidence(entries), score)


def test_the_best_of_every_family_has_its_periods_moved():
    two = assembled(
        [({(EQ, 1e6, period, 0.0): 1.0}, (0.1,)) for period in (12.0, 5.0, 5.1)],
        [0.0] * 3,
        [1, 2, 2],
    )
    evidence, _ = peaked(at=12.0, noise=0.1)
    entries, _ = searched(two, evidence(two), evidence, TIMES, 0, 3)
    assert [(entries.family == family).sum().item() for family in (1, 2)] == [7, 8]


def test_without_rounds_only_periods_are_moved():
    evidence, _ = peaked(at=12.0, noise=0.03)
    entries, _ = searched(season(11.6), evidence(season(11.6)), evidence, TIMES, 0, 3)
    assert len(entries) == 2 + 6
    assert entries.noise.unique().tolist() == [0.1]


def test_seasons_that_drift_become_exact_ones_and_slow_ones_are_nothing_else():
    drifting, rhythm = (EQ, 40.0, 12.0, 1.0), (MATERN12, 20.0, 12.0, 0.0)
    slow, level = (EQ, 4000.0, 900.0, 1.0), (EQ, 5.0, math.inf, 0.0)
    kernels = [{drifting: 0.5, level: 0.5}, {rhythm: 1.0}, {slow: 1.0}, {level: 1.0}]
    found = items(
        with_exact_seasons(assembled([(k, (0.1,)) for k in kernels], [0.0] * 4, [1, 1, 2, 0]), 576)
    )
    exact = [{(EQ, ENDLESS, 12.0, 1.0): 0.5, level: 0.5}, {(EQ, ENDLESS, 900.0, 1.0): 1.0}]
    expected = [kernels[0], kernels[1], kernels[3], *exact]
    assert len(found) == len(expected)
    assert all(item.kernel in expected for item in found)


def test_seasons_of_a_long_series_are_put_beside_the_best():
    evidence, _ = peaked(at=12.0, noise=0.1)
    beside = PossibleSeasons([12.0, 5.0], 7.0, 3)
    entries, _ = searched(season(12.0), evidence(season(12.0)), evidence, TIMES, 0, 9, beside)
    found = [item for item in items(entries) if item.family == 3]
    sets = {tuple(sorted({base[2] for base in item.kernel})) for item in found}
    sets = {periods for periods in sets if {*periods} <= {5.0, 12.0, math.inf}}  # not yet moved
    assert sets == {(12.0, math.inf), (5.0, math.inf), (5.0, 12.0), (5.0, 12.0, math.inf)}
    assert {-7.0, -14.0} <= {item.log_prior for item in found}
