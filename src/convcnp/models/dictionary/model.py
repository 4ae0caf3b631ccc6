"""GaussianProcessDictionary: a map from a task to a distribution, without weights."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.core.task import Task
from convcnp.core.threads import one_thread
from convcnp.errors import SettingError
from convcnp.models.base import Findings, Model, Rhythm
from convcnp.models.dictionary.averaged import Answering, AveragedProcesses, known_variance
from convcnp.models.dictionary.catalogue import Catalogue, entries_for
from convcnp.models.dictionary.components import Components
from convcnp.models.dictionary.doubted import (
    Hypothesis,
    are_small,
    as_told,
    drawn_by_weight,
    of_logarithms,
    weighed,
)
from convcnp.models.dictionary.evidence import Prior
from convcnp.models.dictionary.funnel import Funnel
from convcnp.models.dictionary.joint import drawn
from convcnp.models.dictionary.levels import at_levels
from convcnp.models.dictionary.outliers import without_outliers
from convcnp.models.dictionary.periodogram import find_periods
from convcnp.models.dictionary.plane import plane_dictionary
from convcnp.models.dictionary.recent import Recent
from convcnp.models.dictionary.rhythm import Seen, described, restless
from convcnp.models.dictionary.series import Series, prepared
from convcnp.models.dictionary.windows import Fitted, fit


class GaussianProcessDictionary(AveragedProcesses):
    r"""Several hundred Gaussian processes, averaged by how well each explains the observations.

    .. math:: p(y_* \mid D) = \sum_e p(e \mid D) \, p(y_* \mid D, e),
              \qquad p(e \mid D) \propto p(e) \, p(D \mid e)

    Nothing is trained and nothing is fitted: kernels are in units of the typical gap, seasonal ones
    at up to three periods that a periodogram finds in the context; noise comes in levels; the best
    are varied, since the truth lies between the entries of any catalogue; a constant, a line and
    the overall scale are integrated out. Where no value is negative, logarithms are weighed against
    the values, of themselves and of themselves and a shift. Outliers have errors of their own,
    where that explains more. Every channel is a series of its own. Without any observation an
    output is standard normal, in the user's units.

    Up to 576 points a prediction is exact given the entries that the `Funnel` leaves; longer
    series are predicted by overlapping windows, in time and memory linear in their length.

    Args:
        num_components: Gaussians of the mixture at every target.
        surprise: Observations, beside the n that were made and two, that no entry foresees: the
            next is such a one with probability surprise / (n + 2).
    """

    def __init__(
        self,
        dim_x: int = 1,
        dim_y: int = 1,
        *,
        catalogue: Catalogue | None = None,
        prior: Prior | None = None,
        funnel: Funnel | None = None,
        num_components: int = 24,
        surprise: float = 0.02,
    ) -> None:
        super().__init__(
            dim_x,
            dim_y,
            prior=prior or Prior(),
            funnel=funnel
            or Funnel(kept_first=48, kept_second=6, affordable=150, searching=240, rounds=2),
            num_components=num_components,
            surprise=surprise,
        )
        if dim_x != 1:
            raise SettingError(
                "A dictionary of Gaussian processes takes one input dimension, got dim_x = "
                f"{dim_x}; use a PlaneDictionary for the plane."
            )
        self.catalogue = catalogue or Catalogue()
        self.recent = Recent()

    @classmethod
    def standard(cls, dim_x: int = 1, dim_y: int = 1) -> GaussianProcessDictionary:
        """Build the dictionary that ships: all that could be chosen is chosen."""
        return cls(dim_x, dim_y)

    def answering(self, task: Task) -> Answering:
        """Return what predicts one channel of one task; alike series are weighed once."""

        def answer(index: int, channel: int, x: Tensor) -> Components:
            if known_variance(task, index, channel) is None:
                fitted = self._fitted(task, index, channel)
                assert fitted is not None
                return self.components(fitted, x[:, 0])
            found = self._hypotheses(task, index, channel)
            untold = found[-1].fitted
            return self.mixed(weighed(found, x[:, 0]), math.inf, untold.series)

        return answer

    def _hypotheses(self, task: Task, index: int, channel: int) -> list[Hypothesis]:
        """See a series with its errors, in their logarithms, and, the last, without."""
        observed = task.context_mask[index, :, channel]
        x, y = task.x_context[index, observed, 0], task.y_context[index, observed, channel].double()
        variance = known_variance(task, index, channel)
        assert variance is not None
        # Of the same observations, one by one, or evidences could not be compared.
        untold = self.fit(x, y, are_averaged=False)
        found = list(as_told(self.fit(x, y, variance)))
        if untold.series.has_logarithms and are_small(variance, y):
            found += of_logarithms(self.fit(x, y.log(), variance / y**2), y.log())
        # A typical error: values do not depend on how well they will be measured.
        return [*found, Hypothesis(untold, untold.evidence, error=float(variance.median()))]

    def _fitted(self, task: Task, index: int, channel: int) -> Fitted | None:
        observed = task.context_mask[index, :, channel]
        if not observed.any():
            return None
        return self.fit(
            task.x_context[index, observed, 0],
            task.y_context[index, observed, channel],
            known_variance(task, index, channel),
        )

    @torch.no_grad()
    def fit(
        self,
        x: Float[Tensor, " n"],
        y: Float[Tensor, " n"],
        variance: Float[Tensor, " n"] | None = None,
        *,
        are_averaged: bool = True,
    ) -> Fitted:
        """Weigh the entries by the observations of one series, at least one.

        Some that were asked for last are not weighed again; nor is one that differs from them in
        level and scale alone, such as another single row.

        Args:
            variance: Known variance of every observation's error, in squared units of y.
            are_averaged: Whether observations at one time are averaged, where no errors are known.
        """
        series, has_errors = prepared(x, y, variance, are_averaged), variance is not None
        key = series.fingerprint + bytes([has_errors])
        return self.recent(key, lambda: self._weighed(series, has_errors)).seen_as(series)

    def _weighed(self, series: Series, has_errors: bool) -> Fitted:
        fitted = self._fit(series)
        if not has_errors:
            fitted = without_outliers(fitted, self._fit)
            return replace(fitted, volatility=restless(fitted))
        # Errors are known, but are told in units of the scale, which is found.
        known = self._fit(replace(series, extra=series.extra / fitted.typical_variance))
        return replace(known, levels=at_levels(known, series.extra))

    def _fit(self, series: Series, outliers: Bool[Tensor, " n"] | None = None) -> Fitted:
        """Weigh the entries for a series, whose periods its outliers tell nothing of."""
        seen = series if outliers is None else series.some((~outliers).nonzero()[:, 0])
        # A season shows in the values, or in the first of their logarithms as well as in others.
        periods = find_periods(seen.x - seen.x[0], seen.z[:2], seen.step)
        counted = series.num_points, series.sampling, series.is_in_parts
        entries = entries_for(self.catalogue, periods, *counted)
        return fit(series, entries, self.funnel, self.prior)

    @torch.no_grad()
    def components(self, fitted: Fitted, x: Float[Tensor, " m"]) -> Components:
        """Predict a fitted series at any times, in the user's units."""
        return self.mixed(fitted.students(x), fitted.freedom, fitted.series, fitted.outliers)

    def draw(
        self, task: Task, num_samples: int, generator: torch.Generator
    ) -> Float[Tensor, "S M Dy"] | None:
        """Draw from the processes themselves, which are joint distributions."""
        channels = []
        for channel in range(task.dim_y):
            x = task.x_target[0, :, 0].double()
            curves: Tensor | None
            if not task.context_mask[0, :, channel].any():
                curves = torch.randn(num_samples, len(x), dtype=x.dtype, generator=generator)
            elif known_variance(task, 0, channel) is None:
                fitted = self._fitted(task, 0, channel)
                assert fitted is not None
                curves = drawn(fitted, x, num_samples, generator)
            else:
                hypotheses = self._hypotheses(task, 0, channel)
                curves = drawn_by_weight(hypotheses, x, num_samples, generator)
            if curves is None:
                return None
            channels.append(curves)
        return torch.stack(channels, -1)

    def in_plane(self, longitude: int | None) -> Model:
        """Return the dictionary of the plane, or of the globe."""
        return plane_dictionary(self.dim_y, longitude)

    def findings(self, task: Task) -> list[list[Findings]]:
        """Return what was found in every task and channel, of nothing observed nothing."""
        return [
            [
                Findings(
                    list(map(Rhythm, seen.periods, seen.shares)),
                    list(seen.outliers),
                    seen.restlessness,
                )
                if seen
                else Findings([], [])
                for seen in channels
            ]
            for channels in self.seen(task)
        ]

    @one_thread()
    def seen(self, task: Task) -> list[list[Seen | None]]:
        """Say what was found in every task and channel; nothing where nothing was observed."""
        return [
            [described(self._fitted(task, i, c)) for c in range(task.dim_y)]
            for i in range(task.batch_size)
        ]
