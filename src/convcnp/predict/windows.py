"""Long series seen as in training: through windows, each with a level and spread of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convcnp.frames.series import Ragged


@dataclass(frozen=True)
class Windows:
    """Series cut into windows that overlap by half, and who answers for which input.

    Every asked input lies between the middles of two windows, and both answer: at the middle of a
    window it alone, in between each the more the nearer. So answers change from window to window
    without a step.

    Args:
        series: The windows, as series.
        y: Their outputs.
        sides: The number of the window before and after every asked input, (2, rows); one and the
            same beyond the first and the last, and in a series that needs no cutting.
        share: What the window after has of the answer.
    """

    series: Ragged
    y: np.ndarray
    sides: np.ndarray
    share: np.ndarray

    def copies(self, asked: Ragged) -> Copies:
        """Return what every window is asked for: most inputs are asked of two."""
        rows = np.arange(len(asked.x))
        twice = rows[self.sides[0] != self.sides[1]]
        owners = np.concatenate([self.sides[0], self.sides[1][twice]])
        order = np.argsort(owners, kind="stable")
        counts = np.bincount(owners, minlength=len(self.series))
        row = np.concatenate([rows, twice])[order]
        is_after = np.repeat([False, True], [len(rows), len(twice)])[order]
        share = np.where(is_after, self.share[row], 1 - self.share[row])
        starts = np.concatenate([[0], np.cumsum(counts)])
        error = None if asked.error is None else asked.error[row]
        return Copies(Ragged(asked.x[row], starts, error=error), row, is_after, share)


@dataclass(frozen=True)
class Copies:
    """Inputs as the windows are asked for them."""

    asked: Ragged
    row: np.ndarray  # which of the original inputs each is
    is_after: np.ndarray  # whether its window is the one after the input
    share: np.ndarray  # of the answer

    def faded(self, curves: np.ndarray, mean: np.ndarray, rows: int) -> np.ndarray:
        """Let curves (S, C, Dy) of the windows fade into each other, with the spread they have.

        Means are averaged; the deviations from them, which are independent, are added such that
        their variance stays.
        """
        weight = self.share[:, None]
        level = np.zeros((rows, mean.shape[1]))
        np.add.at(level, self.row, weight * mean)
        deviation = np.zeros((rows, len(curves), mean.shape[1]))
        np.add.at(deviation, self.row, (weight * (curves - mean)).swapaxes(0, 1))
        square = np.bincount(self.row, self.share**2, minlength=rows)
        return level + deviation.swapaxes(0, 1) / np.sqrt(square)[:, None]


def in_windows(series: Ragged, y: np.ndarray, asked: Ragged, most: int | None) -> Windows | None:
    """Cut series of more observed rows than a model has ever seen at once, if there are any.

    Args:
        most: Rows of a window.
    """
    seen = ~np.isnan(y).all(1)
    lengths = np.diff(series.starts_among(seen))
    if most is None or lengths.max(initial=0) <= most:
        return None
    parts: list[np.ndarray] = []
    sides, share = np.zeros((2, len(asked.x)), dtype=np.int64), np.zeros(len(asked.x))
    for i in range(len(series)):
        rows, wanted, first = series.rows(i), asked.rows(i), len(parts)
        if lengths[i] <= most:
            parts.append(np.arange(rows.start, rows.stop))
            sides[:, wanted] = first
            continue
        known = np.arange(rows.start, rows.stop)[seen[rows]]
        count = int(np.ceil((len(known) - most) / (most / 2))) + 1
        starts = np.linspace(0, len(known) - most, count).round().astype(np.int64)
        parts += [known[start : start + most] for start in starts]
        middles = series.x[known[starts + most // 2]]
        found = _between(middles, asked.x[wanted])
        sides[:, wanted], share[wanted] = first + found[0], found[1]
    index = np.concatenate(parts)
    cut = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    error = None if series.error is None else series.error[index]
    return Windows(Ragged(series.x[index], cut, error=error), y[index], sides, share)


def _between(middles: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the middles before and after every input (2, rows), and how near the latter is."""
    after = np.searchsorted(middles, x, side="right")
    sides = np.clip(np.stack([after - 1, after]), 0, len(middles) - 1)
    low, high = middles[sides]
    width = np.where(high > low, high - low, 1.0)
    return sides, np.where(high > low, (x - low) / width, 0.0)
