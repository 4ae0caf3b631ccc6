"""The entries of the dictionary: how many there are, and what they need to know of a series."""

import torch

from convcnp.models.dictionary.catalogue import Catalogue, entries_for


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
