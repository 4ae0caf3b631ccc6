"""Distributions whose moments are integrals without a formula."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

from jaxtyping import Float
from torch import Tensor

from convcnp.core.predictive import Predictive


class QuadraturePredictive(Predictive):
    """A distribution whose mean and variance are found by a quadrature, once for both."""

    @abstractmethod
    def integrated(self) -> tuple[Float[Tensor, "B M Dy"], Float[Tensor, "B M Dy"]]:
        """Return the mean and the variance."""

    @cached_property
    def _moments(self) -> tuple[Tensor, Tensor]:
        return self.integrated()

    @property
    def mean(self) -> Float[Tensor, "B M Dy"]:
        """The mean, by quadrature."""
        return self._moments[0]

    @property
    def variance(self) -> Float[Tensor, "B M Dy"]:
        """The variance, by quadrature."""
        return self._moments[1]

    @property
    def stddev(self) -> Float[Tensor, "B M Dy"]:
        """The standard deviation, by quadrature."""
        return self.variance.sqrt()
