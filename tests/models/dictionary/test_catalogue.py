"""The entries of the dictionary: how many there are, and what they need to know of a series."""

import math

import numpy as np
import pytest
import torch

from convcnp.models.dictionary.catalogue import Catalogue, Sampling, entries_for


def test_a_season_adds_entries_at_its_period():
    plain = entries_for(Catalogue(), [], 100)
    seasonal = entries_for(Catalogue(), [12.0], 100)
    assert len(seasonal) > len(plain) >= 100
    periods = seasonal.bases.period[seasonal.bases.period.isfinite()]
    assert set(periods.tolist()) == {12.0}
    assert not plain.bases.period.isfinite().any()


def test_seasonal_entries_pay_for_being_the_best_of_many_frequencies():
    few, many = (entries_for(Catalogue(), [12.0], n) for n in (20, 2000))
    seasonal = (few.weights[few.kernel] * few.bases.period.isfinite()).any(1)
    assert (many.log_prior[seasonal] < few.log_prior[seasonal]).all()
    assert torch.equal(many.log_prior[~seasonal], few.log_prior[~seasonal])


def test_any_two_of_three_periods_may_be_there_at_once():
    entries = entries_for(Catalogue(), [144.0, 168.0, 24.0], 1000)
    nested = entries.family == 4
    periods = entries.bases.period
    found = set()
    for weights in entries.weights[entries.kernel[nested]]:
        found.add(frozenset(periods[(weights > 0) & periods.isfinite()].tolist()))
    assert found == {frozenset(pair) for pair in ((144.0, 168.0), (144.0, 24.0), (168.0, 24.0))}
    assert entries.log_prior[nested].max() < entries.log_prior[~nested].min()


def test_only_a_long_series_has_exact_seasons_on_weather():
    def parts(is_long: bool) -> int:
        entries = entries_for(Catalogue(), [365.0], 900, is_long=is_long)
        length, period = entries.bases.length_scale, entries.bases.period
        seasons = entries.weights[:, (period == 365) & (length >= 1e6)].any(1)
        weather = entries.weights[:, period.isinf() & (length == 5.0)].any(1)
        return int((seasons & weather).sum())

    assert parts(False) == 0
    assert parts(True) == len(Catalogue().sharpness)


@pytest.mark.parametrize("order", [(24.0, 168.0), (168.0, 24.0)])
def test_of_two_exact_seasons_the_longer_one_is_the_sharper(order):
    sharpness = {}
    for kernel, _ in Catalogue().nested(*order):
        seasons = {period: sharp for _, _, period, sharp in kernel if period < math.inf}
        sharpness[seasons[24.0], seasons[168.0]] = True
    assert set(sharpness) == {(4.0, 4.0), (1.0, 4.0), (1.0, 20.0)}


@pytest.mark.parametrize("phases", [3, 4, 7, 12])
def test_next_phases_of_a_lattice_are_correlated(phases):
    for drift in (0.0, 1e-4):
        sharpness = Sampling(np.arange(100.0)).sharpest(phases + drift)
        expected = 1 / (2 * math.sin(math.pi / phases) ** 2)
        assert sharpness == pytest.approx(expected, rel=0.02)


def test_phases_that_fill_up_tell_of_sharp_seasons():
    times = np.arange(400.0)
    assert Sampling(times).sharpest(12.37) > 5 * Sampling(times).sharpest(12.0)
    irregular = np.sort(np.random.default_rng(0).uniform(0, 400, 400))
    assert Sampling(irregular).sharpest(12.0) > 10 * Sampling(times).sharpest(12.0)


def test_a_hole_in_the_phases_does_not_hide_what_the_others_tell():
    hours = np.arange(24 * 20.0)
    days = hours[hours % 24 < 14]
    assert Sampling(days).sharpest(24.0) == pytest.approx(Sampling(hours).sharpest(24.0), rel=0.01)


def test_one_observation_tells_of_no_season():
    assert Sampling(np.zeros(1)).sharpest(3.0) == 0.5
    assert Sampling(np.zeros(1)).span == 1.0


def test_of_bursts_there_are_entries_that_reach_from_one_to_others():
    bursts = np.concatenate([start + np.arange(20.0) for start in (0, 1000, 2500)])
    evenly = np.arange(60.0)
    families, longest = [], []
    for times in (evenly, bursts):
        entries = entries_for(Catalogue(), [12.0], len(times), Sampling(times))
        families.append(len(entries.family.unique()))
        longest.append(float(entries.bases.length_scale[entries.bases.period.isinf()].max()))
    assert families == [2, 3]
    assert longest[1] > 10 * Sampling(bursts).mean_gap > 400
    assert longest[0] == 200
