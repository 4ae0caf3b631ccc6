"""Moments that are integrals."""

import torch

from convcnp.core.bounds import BoundedPredictive
from convcnp.core.predictive import GaussianPredictive
from convcnp.core.quadrature import QuadraturePredictive
from convcnp.core.recalibrated import RecalibratedPredictive


class Counted(QuadraturePredictive, GaussianPredictive):
    """A Gaussian that is told its moments, and counts how often they are asked for."""

    def __init__(self):
        mask = torch.ones(1, 2, 1, dtype=torch.bool)
        GaussianPredictive.__init__(self, torch.zeros(1, 2, 1), torch.ones(1, 2, 1), mask)
        self.times = 0

    def integrated(self):
        self.times += 1
        return torch.full((1, 2, 1), 3.0), torch.full((1, 2, 1), 4.0)


def test_both_moments_come_from_one_integral():
    found = Counted()
    assert found.mean.unique().item() == 3
    assert found.variance.unique().item() == 4
    assert found.stddev.unique().item() == 2
    assert found.times == 1


def test_bounded_and_corrected_distributions_are_integrals():
    assert issubclass(BoundedPredictive, QuadraturePredictive)
    assert issubclass(RecalibratedPredictive, QuadraturePredictive)
