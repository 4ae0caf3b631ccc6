"""Where a user's data lies outside what a model was trained for, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from convcnp.data.source import Familiar
from convcnp.frames.series import Ragged
from convcnp.predict.batches import Predictions

_FEW = 0.05  # of the values


@dataclass(frozen=True)
class Words:
    """What the things of a table are called."""

    sets: str  # what is predicted each on its own
    targets: str  # where it is asked for
    advice: str  # what helps against unfamiliar gaps
    other: str = ""  # and what else, unless it is the model itself


SERIES = Words(
    sets="series", targets="times", advice="rescale the times", other=", or use 'general'"
)
POINTS = Words(sets="sets of points", targets="points", advice="rescale the inputs")


def cautions(
    found: Predictions, series: Ragged, familiar: Familiar, reach: float, name: str, words: Words
) -> Iterator[str]:
    """Say what a user should know of predictions.

    Args:
        series: What was observed.
        familiar: What the model has seen in training.
        reach: How far away an observation can matter, in the model's units.
        name: Of the model.
    """
    empty = int((series.lengths == 0).sum())
    if empty:
        yield (
            f"{empty:,} of {len(series):,} {words.sets} have no observed value; their predictions "
            "are left empty."
        )
    if found.averaged > _FEW * found.observed:  # among irregular times some are close by chance
        yield (
            f"{found.averaged:,} of {found.observed:,} values are not the first at their time, or "
            "almost; those of one time are averaged, and their scatter widens the bands. If they "
            "belong to different series, name the column that tells these apart as the group."
        )
    far = int((found.distance > reach).sum())
    if far:
        yield (
            f"{far:,} of {len(found.distance):,} asked {words.targets} are farther from every "
            f"observation than {name!r} can see ({reach:.3g} in its units); the predictions there "
            "know nothing of the data."
        )
    low, high = familiar.gaps
    if found.gaps[0] < low or found.gaps[1] > high:
        other = "" if name == "general" else words.other
        yield (
            f"the typical gap between observations is {found.gaps[0]:.3g} to {found.gaps[1]:.3g}, "
            f"and {name!r} was trained on {low:.3g} to {high:.3g}; {words.advice}{other}."
        )
    if found.largest > familiar.largest:
        yield (
            f"values reach {found.largest:.3g} in the units of {name!r}, which was trained on "
            f"values up to {familiar.largest:.3g}; trust the predictions less there."
        )
