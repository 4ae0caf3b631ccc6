"""A trained model for users: tables in, the same kind of table out, in the user's units."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from convcnp.core.predictive import GaussianPredictive
from convcnp.core.task import Task
from convcnp.data.images.source import PixelSource
from convcnp.data.source import NamedSource, seeded
from convcnp.data.table import TableSource, widened, with_channels
from convcnp.errors import (
    CheckpointError,
    ConvCNPWarning,
    OutputError,
    SettingError,
    ShapeError,
    TableError,
    writing,
)
from convcnp.frames.containers import Opened, opened
from convcnp.frames.kinds import numbers
from convcnp.frames.series import Columns, Ragged, SeriesTable, choose_columns
from convcnp.frames.targets import asked_times
from convcnp.models.base import Model
from convcnp.predict.batches import Predictions, Progress, predict_many, reach
from convcnp.predict.points import AskedPoints, PointsTable, predict_points
from convcnp.predict.sampling import sample_curves
from convcnp.predict.user_units import as_seen
from convcnp.storage import read_tensors, write_atomically, write_tensors
from convcnp.training.experiment import Experiment
from convcnp.training.loop import BEST
from convcnp.training.own.choices import MINUTES, Say, Wanted
from convcnp.training.own.train import train_on_frame, train_own
from convcnp.training.run import RESULT

QUANTILES = (0.05, 0.95)
_FEW = 0.05  # of the values

# The time column, the value columns and the group column, where they are named.
Names = tuple[str | None, str | Sequence[str] | None, str | None]


@dataclass(frozen=True)
class Predictor:
    """A trained model, with the experiment it comes from and the score it reached.

    `model` takes a `Task`. The methods take tables: a DataFrame, a Series whose index is the time,
    an xarray object with one dimension, or a pair (times, values) of arrays; and answer in the
    same container, index type and units. Columns are guessed unless `time`, `value` and `group`
    name them.

    Example:
        >>> import convcnp
        >>> series = ([0.0, 1, 2, 4], [1.0, 2, 3, 5])
        >>> answer = convcnp.load("general").predict(series, at=[3.0])
        >>> sorted(answer)
        ['mean', 'q05', 'q95', 'std', 'time']
    """

    name: str
    model: Model
    experiment: Experiment
    result: dict[str, Any]

    @classmethod
    def read(cls, name: str, weights: Path, description: Path) -> Predictor:
        """Read trained weights, and the result of the run they come from."""
        try:
            result = json.loads(description.read_text())
            experiment = Experiment.parse(result["experiment"])
            model = experiment.build_model()
            model.load_state_dict(read_tensors(weights)[0])
        except (ValueError, KeyError, TypeError, RuntimeError) as error:
            raise CheckpointError(
                f"{weights} and {description.name} must hold a model and its description, but do "
                f"not fit ({str(error).splitlines()[0]}); train it again, or install the package "
                "again."
            ) from error
        return cls(name, model.eval(), experiment, result)

    def save(self, directory: str | Path) -> None:
        """Write weights and description into a directory that `load` reads."""
        directory = Path(directory)
        if (directory / BEST).exists():
            raise OutputError(
                f"Expected a directory without a model, but {directory} holds one; choose another."
            )
        with writing(directory):
            write_tensors(directory / BEST, self.model.state_dict())
            write_atomically(
                directory / RESULT, (json.dumps(self.result, indent=2) + "\n").encode()
            )

    @classmethod
    def fit(
        cls,
        data: Any,  # noqa: ANN401 - any container that `opened` knows
        out: str | Path | None = None,
        *,
        time: str | None = None,
        value: str | Sequence[str] | None = None,
        group: str | None = None,
        channel: str | None = None,
        inputs: Sequence[str] = (),
        minutes: float = MINUTES,
        settings: Sequence[str] = (),
        say: Say = lambda text: None,
    ) -> Predictor:
        """Train a model on one's own table or images, as `convcnp train` does.

        Args:
            data: A table in any container; or the path of a table's file, or of a folder or zip
                file of images.
            out: Directory of the run; by default one that is removed afterwards.
            channel: Column of a long table that says whose value a row holds.
            inputs: Two input columns of points in the plane, in place of a time.
            minutes: How long training may take, about.
            settings: Overrides of what is chosen from the data, such as "training.seed=1".
            say: Called with a sentence for every choice.
        """
        box = None if isinstance(data, str | Path) else opened(data)
        if box is not None and not inputs:
            time = time or box.time
        names = {"time": time, "value": [value] if isinstance(value, str) else value}
        names |= {"group": group, "channel": channel, "inputs": tuple(inputs)}
        wanted = Wanted.of(names, overrides=settings, minutes=minutes)
        with tempfile.TemporaryDirectory() as temporary:
            directory = Path(temporary) / "model" if out is None else Path(out)
            if box is None:
                train_own(Path(data), directory, wanted, say=say)
            else:
                train_on_frame(box.frame, directory, wanted, say=say)
            return cls.read(directory.name, directory / BEST, directory / RESULT)

    def predict(
        self,
        data: Any,  # noqa: ANN401 - any container that `opened` knows
        at: Any = None,  # noqa: ANN401 - anything that `asked_times` knows
        *,
        quantiles: Sequence[float] = QUANTILES,
        samples: int = 0,
        seed: int = 0,
        time: str | None = None,
        value: str | Sequence[str] | None = None,
        group: str | None = None,
        progress: Progress = lambda done, total: None,
    ) -> Any:  # noqa: ANN401
        """Predict mean, standard deviation and quantiles at the asked times.

        Args:
            at: Times; a number of evenly spaced times; "gaps"; or a table with the time column
                (and the group column). By default the gaps, or 200 times where there are none.
            quantiles: Levels between 0 and 1, such as 0.05.
            samples: Number of coherent curves to draw as well.
            seed: Of the curves.
            progress: Called with the number of rows done and asked for.
        """
        return self._answer(
            *(data, at, quantiles, samples, seed, (time, value, group), progress), has_moments=True
        )

    def sample(
        self,
        data: Any,  # noqa: ANN401
        at: Any = None,  # noqa: ANN401
        samples: int = 20,
        *,
        seed: int = 0,
        time: str | None = None,
        value: str | Sequence[str] | None = None,
        group: str | None = None,
        progress: Progress = lambda done, total: None,
    ) -> Any:  # noqa: ANN401
        """Draw coherent curves at the asked times, and nothing else; see `predict`."""
        return self._answer(
            *(data, at, (), samples, seed, (time, value, group), progress), has_moments=False
        )

    def _answer(
        self,
        data: Any,  # noqa: ANN401
        at: Any,  # noqa: ANN401
        quantiles: Sequence[float],
        samples: int,
        seed: int,
        names: Names,
        progress: Progress,
        *,
        has_moments: bool,
    ) -> Any:  # noqa: ANN401
        self.check_takes_tables()
        check_quantiles(quantiles)
        if samples < 0:
            raise SettingError(f"The number of samples must not be negative, got {samples}.")
        box = opened(data)
        if self.model.dim_x == 2:
            self._check_unnamed(names)
            return box.close(self._predict_plane(box.frame, at, quantiles, samples, progress))
        table = self._table(box, names)
        asked = asked_times(table, at)
        parts = [table.frame(asked.times)]
        for channels in self._jobs(table):
            series, y = _observed(table, channels)
            found = predict_many(self.model, self._source, series, y, asked.times, progress)
            self._warn(found, series, [table.columns.values[c] for c in channels])
            curves = self._curves(series, y, asked.times, samples, (seed, channels[0]), progress)
            for i, channel in enumerate(channels):
                name = table.columns.values[channel]
                moments = _columns(name, found.mean[:, i], found.stddev[:, i], quantiles)
                drawn = {f"{name}_sample{s + 1}": curves[s, :, i] for s in range(samples)}
                parts.append(pd.DataFrame((moments if has_moments else {}) | drawn))
        return box.close(asked.in_order(pd.concat(parts, axis=1)))

    def score(
        self,
        data: Any,  # noqa: ANN401
        held_out: Any,  # noqa: ANN401
        *,
        time: str | None = None,
        value: str | Sequence[str] | None = None,
        group: str | None = None,
    ) -> dict[str, dict[str, float]]:
        """Compare predictions from data with values that were held out, per value column.

        Returns:
            For every value column the log-likelihood per value, the CRPS in the column's units, the
            share of values inside the central 90 %, and their number.
        """
        box, truth = opened(data), opened(held_out).frame
        self.check_takes_tables()
        source = self._source
        named: dict[str, Any] = {}
        if isinstance(source, TableSource):
            truth = widened(truth, source)
        if self.model.dim_x == 2:
            self._check_unnamed((time, value, group))
            values = self.points_table(box.frame).layout.values
        else:
            columns = self._table(box, (time, value, group)).columns
            values = columns.values
            named = {"time": columns.time, "value": values, "group": columns.group or ""}
        for name in values:
            if name not in truth.columns:
                raise TableError(
                    f"Expected the held-out table to have the column {name!r}, but it has "
                    f"{list(truth.columns)}; give it the same columns."
                )
        frame, truth = (table.reset_index(drop=True) for table in (box.frame, truth))
        answer = self.predict(frame, truth, quantiles=(), **named)
        return {
            name: _score(
                numbers(truth, name),
                answer[f"{name}_mean"].to_numpy(),
                answer[f"{name}_std"].to_numpy(),
            )
            for name in values
        }

    def check_takes_tables(self) -> None:
        """Refuse tables if the model is one of images."""
        if isinstance(self._source, PixelSource):
            raise ShapeError(
                f"{self.name!r} is a model of images, and takes no tables; complete a picture with "
                "`convcnp complete PHOTO --model`, or choose a model of series, such as 'general'."
            )

    def prepared(
        self,
        frame: pd.DataFrame,
        time: str | None = None,
        value: str | Sequence[str] | None = None,
        group: str | None = None,
    ) -> tuple[pd.DataFrame, Columns]:
        """Choose the columns: those named, else those of the training table, else guessed ones.

        Channels of a long table get columns of their own, in the order of training.
        """
        source = self._source
        if isinstance(source, TableSource) and source.time is not None:
            frame = with_channels(frame, source, value)
            time, group = (
                name if name is not None or learned not in frame.columns else learned
                for name, learned in ((time, source.time), (group, source.group))
            )
            given = {value} if isinstance(value, str) else set(value or source.values)
            if given == set(source.values) and given <= set(frame.columns):
                value = source.values
        return frame, choose_columns(frame, time, value, group)

    def points_table(self, frame: pd.DataFrame) -> PointsTable:
        """Read a table of points with the columns that the model was trained on."""
        source = self._source
        if not isinstance(source, TableSource) or self.model.dim_x != 2:
            raise ShapeError(
                f"{self.name!r} was not trained on a table of points in the plane; choose a model "
                "that `convcnp train --inputs` made."
            )
        return PointsTable.of(frame, source)

    def predict_points(
        self,
        table: PointsTable,
        asked: AskedPoints,
        progress: Progress = lambda done, total: None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return means and standard deviations at points in the plane."""
        return predict_points(self.model, self._source, table, asked, progress)

    @staticmethod
    def _check_unnamed(names: Names) -> None:
        if any(names):
            raise SettingError(
                "Points in the plane are read by the columns of the training table; leave out "
                f"time, value and group (got {', '.join(repr(n) for n in names if n)})."
            )

    def _predict_plane(
        self,
        frame: pd.DataFrame,
        at: Any,  # noqa: ANN401
        quantiles: Sequence[float],
        samples: int,
        progress: Progress,
    ) -> pd.DataFrame:
        if samples:
            raise SettingError(
                f"Coherent samples are drawn along a time only, got samples = {samples} for points "
                "in the plane; leave them out."
            )
        table = self.points_table(frame)
        asked = table.asked(at)
        mean, stddev = self.predict_points(table, asked, progress)
        answer = table.frame(asked)
        for i, name in enumerate(table.layout.values):
            answer = answer.assign(**_columns(name, mean[:, i], stddev[:, i], quantiles))
        return answer.iloc[np.argsort(asked.order, kind="stable")].reset_index(drop=True)

    def _table(self, box: Opened, names: Names) -> SeriesTable:
        self.check_takes_tables()
        time, value, group = names
        time = box.time if time is None else time
        return SeriesTable.of(*self.prepared(box.frame, time, value, group))

    @property
    def _source(self) -> NamedSource:
        return self.experiment.source()

    def _jobs(self, table: SeriesTable) -> Iterator[list[int]]:
        """Yield the value columns that are predicted together, by their numbers."""
        count, channels = len(table.columns.values), self.model.dim_y
        if channels == 1:
            yield from ([i] for i in range(count))
        elif channels == count:
            yield list(range(count))
        else:
            raise ShapeError(
                f"{self.name!r} was trained for {channels} value columns together, got {count} "
                f"({', '.join(map(str, table.columns.values))}); choose {channels} of them, or a "
                "model of one, such as 'general'."
            )

    def _curves(
        self,
        series: Ragged,
        y: np.ndarray,
        asked: Ragged,
        samples: int,
        key: tuple[int, int],
        progress: Progress,
    ) -> np.ndarray:
        """Draw curves (samples, rows, Dy), series by series: others for every seed and column."""
        curves = np.full((samples, len(asked.x), y.shape[1]), np.nan)
        if samples == 0:
            return curves
        source, (seed, column) = self._source, key
        for i in np.flatnonzero((series.lengths > 0) & (asked.lengths > 0)):
            rows = slice(series.starts[i], series.starts[i + 1])
            wanted = slice(asked.starts[i], asked.starts[i + 1])
            task = Task.from_arrays(series.x[rows], y[rows], asked.x[wanted])
            seen, units = as_seen(task, source)
            generator = seeded(seed, int(i), column)
            drawn = sample_curves(
                self.model, seen, samples, generator, spacing=source.familiar.spacing
            ).double()
            noise = units.scatter * torch.randn(drawn.shape, generator=generator)
            curve = drawn * units.scale + units.trend(task.x_target) + noise
            curves[:, wanted] = curve.numpy()
            progress(int(asked.starts[i + 1]), len(asked.x))
        return curves

    def _warn(self, found: Predictions, series: Ragged, names: list[str]) -> None:
        """Say where the data lies outside what the model was trained for."""
        familiar, which = self._source.familiar, ", ".join(map(str, names))
        empty = int((series.lengths == 0).sum())
        if empty:
            _say(
                f"{which}: {empty:,} of {len(series):,} series have no observed value; their "
                "predictions are left empty."
            )
        if found.averaged > _FEW * found.observed:  # among irregular times some are close by chance
            _say(
                f"{which}: {found.averaged:,} of {found.observed:,} values are not the first at "
                "their time, or almost; those of one time are averaged, and their scatter widens "
                "the bands. If they belong to different series, name the column that tells these "
                "apart as the group."
            )
        farthest = reach(self.model)
        far = int((found.distance > farthest).sum())
        if far:
            _say(
                f"{which}: {far:,} of {len(found.distance):,} asked times are farther from every "
                f"observation than {self.name!r} can see ({farthest:.3g} in its units); the "
                "predictions there know nothing of the data."
            )
        low, high = familiar.gaps
        if found.gaps[0] < low or found.gaps[1] > high:
            other = "" if self.name == "general" else ", or use 'general'"
            _say(
                f"{which}: the typical gap between observations is {found.gaps[0]:.3g} to "
                f"{found.gaps[1]:.3g}, and {self.name!r} was trained on {low:.3g} to {high:.3g}; "
                f"rescale the times{other}."
            )
        if found.largest > familiar.largest:
            _say(
                f"{which}: values reach {found.largest:.3g} in the units of {self.name!r}, which "
                f"was trained on values up to {familiar.largest:.3g}; trust the predictions less "
                "there."
            )


def _say(text: str) -> None:
    warnings.warn(text, ConvCNPWarning, stacklevel=4)


def check_quantiles(quantiles: Sequence[float]) -> None:
    """Refuse levels that are not strictly between 0 and 1."""
    for level in quantiles:
        if not 0 < level < 1:
            raise SettingError(
                f"A quantile must lie strictly between 0 and 1, got {level}; 0.05 is the 5 % "
                "quantile."
            )


def _observed(table: SeriesTable, channels: list[int]) -> tuple[Ragged, np.ndarray]:
    """Keep the rows in which one of the channels was observed."""
    y = table.y[:, channels]
    kept = ~np.isnan(y).all(1)
    starts = np.concatenate([[0], np.cumsum(kept)])[table.series.starts]
    return Ragged(table.series.x[kept], starts), y[kept]


def quantile_name(level: float) -> str:
    """Return the ending of a quantile's column: q05 for 0.05, q975 for 0.975.

    Example:
        >>> quantile_name(0.5)
        'q50'
    """
    return "q" + f"{level:.10f}"[2:].rstrip("0").ljust(2, "0")


def _columns(
    name: str, mean: np.ndarray, stddev: np.ndarray, quantiles: Sequence[float]
) -> dict[str, np.ndarray]:
    scores = torch.special.ndtri(torch.tensor(list(quantiles), dtype=torch.float64)).tolist()
    moments = {f"{name}_mean": mean, f"{name}_std": stddev}
    return moments | {
        f"{name}_{quantile_name(level)}": mean + score * stddev
        for level, score in zip(quantiles, scores, strict=True)
    }


def _score(truth: np.ndarray, mean: np.ndarray, stddev: np.ndarray) -> dict[str, float]:
    known = ~np.isnan(truth) & ~np.isnan(mean)
    values, mean_, stddev_ = (
        torch.from_numpy(array[known])[None, :, None] for array in (truth, mean, stddev)
    )
    predictive = GaussianPredictive(mean_, stddev_, torch.ones_like(mean_, dtype=torch.bool))
    return {
        "log_likelihood": predictive.log_likelihood(values).item(),
        "crps": predictive.crps(values).mean().item(),
        "coverage90": predictive.covers(values, 0.9).double().mean().item(),
        "values": int(known.sum()),
    }
