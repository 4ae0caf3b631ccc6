"""A trained model for users: tables in, the same kind of table out, in the user's units."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict, Unpack

import torch

from convcnp.core.bounds import ANYWHERE, Limits
from convcnp.core.predictive import Predictive, coverage_key
from convcnp.data.images.source import PixelSource
from convcnp.data.source import NamedSource
from convcnp.data.table import TableSource
from convcnp.errors import CheckpointError, OutputError, ShapeError, TableError
from convcnp.frames.columns import ColumnNames, Columns, widened
from convcnp.frames.containers import open_container
from convcnp.frames.kinds import numbers
from convcnp.models.base import Model
from convcnp.predict.answers import QUANTILES
from convcnp.predict.batches import Progress
from convcnp.predict.filling import fill
from convcnp.predict.points import PointsRequest
from convcnp.predict.request import Of, Request, SeriesRequest
from convcnp.predict.soundness import check_finite, check_settings, check_sizes, read_description
from convcnp.predict.trained import Trained
from convcnp.storage import read_tensors, write_atomically, write_tensors, writing
from convcnp.training.checkpoint import BEST, RESULT
from convcnp.training.experiment import Experiment
from convcnp.training.own.choices import MINUTES, Say, Wanted
from convcnp.training.own.train import train_on_frame, train_own


class Known(TypedDict, total=False):
    """What may be said of a table to predict: which column is what, and where values lie."""

    time: str | None
    value: str | Sequence[str] | None
    group: str | Sequence[str] | None
    inputs: Sequence[str] | None
    missing: Any
    lower: float | None
    upper: float | None
    positive: bool
    error: str | Sequence[str] | None


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        """Say in five lines what this is, what it learned from, and what it is given."""
        takes, score = self.source.takes, self.result.get("log_likelihood", float("nan"))
        use = "predict, fill, sample and score" if takes == "tables" else "convcnp.complete"
        return (
            f"Predictor {self.name!r}: {type(self.model).__name__}\n"
            f"  parameters: {self.model.num_parameters:,}\n"
            f"  learned from: {self.experiment.data['name']}\n"
            f"  log-likelihood: {score:.3f} on held-out tasks\n"
            f"  takes: {takes}, with {use}"
        )

    @classmethod
    @torch.inference_mode(False)  # what is made of weights in it cannot be kept
    def read(cls, name: str, weights: Path, description: Path) -> Predictor:
        """Read trained weights, and the result of the run they come from."""
        try:
            result = json.loads(read_description(description))
            experiment = Experiment.parse(result["experiment"])
            check_settings(experiment)
            tensors = read_tensors(weights)[0]
            check_sizes(experiment, tensors)
            model = experiment.build_model()
            model.load_state_dict(tensors)
            check_finite(model)
        except CheckpointError:
            raise
        except (ValueError, KeyError, TypeError, RuntimeError, RecursionError) as error:
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
        data: Any,  # noqa: ANN401 - any container that `open_container` knows
        out: str | Path | None = None,
        *,
        minutes: float = MINUTES,
        settings: Sequence[str] = (),
        say: Say = lambda text: None,
        **names: Unpack[ColumnNames],
    ) -> Predictor:
        """Train a model on one's own table or images, as `convcnp train` does.

        Args:
            data: A table in any container; or the path of a table's file, or of a folder or zip
                file of images.
            out: Directory of the run; by default one that is removed afterwards.
            minutes: How long training may take, about.
            settings: Overrides of what is chosen from the data, such as "training.seed=1".
            say: Called with a sentence for every choice.
            names: Columns, guessed if left out: `time`, `value` (one or several), `group`, which
                tells series apart; `channel` of a long table, which says whose value a row holds;
                `inputs`, two columns of points in the plane in place of a time; `missing` and
                `error`, as for `predict`: a model that is told standard errors weighs values by
                them, and predicts what lies behind the measurements.
        """
        columns = Columns.named(**names)
        container = None if isinstance(data, str | Path) else open_container(data)
        if container is not None and not columns.inputs:
            columns = replace(columns, time=columns.time or container.time)
            if columns.group is None:
                columns = replace(columns, group=container.group)
        wanted = Wanted.of(columns, overrides=settings, minutes=minutes)
        with tempfile.TemporaryDirectory() as temporary:
            directory = Path(temporary) / "model" if out is None else Path(out)
            if container is None:
                train_own(Path(data), directory, wanted, say=say)
            else:
                train_on_frame(container.frame, directory, wanted, say=say)
            return cls.read(directory.name, directory / BEST, directory / RESULT)

    @cached_property
    def source(self) -> NamedSource:
        """What the model was trained on."""
        return self.experiment.source()

    @property
    def trained(self) -> Trained:
        """The model, for those who ask it."""
        return Trained(self.name, self.model, self.source)

    def request(
        self,
        data: Any,  # noqa: ANN401 - any container that `open_container` knows
        at: Any = None,  # noqa: ANN401 - anything that `predict` knows
        columns: Columns | None = None,
        limits: Limits = ANYWHERE,
    ) -> Request:
        """Understand a table, and where it is to be predicted, once for all that follows.

        Args:
            data: The table.
            at: Where to predict; see `predict`.
            columns: Those that are named; see `Columns.named`.
            limits: Between which values lie; see `Limits.given`.
        """
        self.check_takes_tables()
        container, named = open_container(data), columns or Columns()
        in_plane = self.model.dim_x == 2 or named.inputs
        kind: type[Request] = PointsRequest if in_plane else SeriesRequest
        request = kind.of(self.trained, container, at, named)
        return replace(request, limits=limits)

    def predict(
        self,
        data: Any,  # noqa: ANN401
        at: Any = None,  # noqa: ANN401
        *,
        quantiles: Sequence[float] = QUANTILES,
        samples: int = 0,
        seed: int = 0,
        of: Of | None = None,
        progress: Progress = lambda done, total: None,
        **known: Unpack[Known],
    ) -> Any:  # noqa: ANN401
        """Predict mean, standard deviation and quantiles at the asked times or points.

        Args:
            data: The table.
            at: Times; a number of evenly spaced times; "gaps"; "START:STOP:STEP"; "+14", "+14d" or
                "+3 months", so far ahead of every series; or a table with the time column (and the
                group column). By default the gaps, or 200 times where there are none. Of
                points in the plane: points (M, 2); a number along each side of a map; "gaps"; or a
                table with the input columns.
            quantiles: Levels between 0 and 1, such as 0.05.
            samples: Number of coherent curves to draw as well.
            seed: Of the curves.
            of: Where standard errors of the values are known: "value", what lies behind the
                measurements, or "measurement", a new one with the median error of its series.
            progress: Called with the number of rows done and asked for.
            known: Columns, guessed if left out: `time`, `value` (one or several), `error`, their
                standard errors, known by names such as `flux_err` beside `flux` (an empty one says
                that there are none), and `group`, which tells series apart; an empty group says
                that there is none. `inputs`: two columns of points in the plane, in place of a
                time. `missing`: numbers or words that stand for missing values; "none" keeps those
                that would be noticed. `lower` and `upper`: values lie between these, and so does
                the answer; `positive` is a lower bound of zero.

        Returns:
            What the data came in, with one row per asked time: the group (if there is one), the
            time, and for every value column `v` the columns `v_mean`, `v_std`, a quantile each such
            as `v_q05`, and a curve each such as `v_sample1`. Arrays are answered with a dictionary
            of arrays: `time`, `mean`, `std`, `q05` and so on. What should be known of the answer is
            warned of, and kept: in `attrs["warnings"]` of pandas and xarray, and in
            `Request.warnings`.
        """
        request = self.request(data, at, *read_known(**known)).asked_of(of)
        return request.predict(quantiles=quantiles, samples=samples, seed=seed, progress=progress)

    def fill(
        self,
        data: Any,  # noqa: ANN401
        *,
        max_gap: str | float | None = None,
        progress: Progress = lambda done, total: None,
        **known: Unpack[Known],
    ) -> Any:  # noqa: ANN401
        """Return the table with its gaps filled, and every other cell as it was.

        Args:
            data: The table.
            max_gap: Longest gap to fill, such as "14d" or, where times are numbers, 14.
            progress: Called with the number of rows done and asked for.
            known: Columns and bounds, as for `predict`.

        Returns:
            What the data came in: the same columns in the same order, missing cells filled with the
            median of what would be observed, missing rows of regular series put in, and a column
            `filled` that names the values of a row that were. Arrays are answered with a dictionary
            of arrays: `time`, `values` and `filled`.
        """
        request = self.request(data, None, *read_known(**known))
        return fill(request, max_gap, progress).table

    def sample(
        self,
        data: Any,  # noqa: ANN401
        at: Any = None,  # noqa: ANN401
        samples: int = 20,
        *,
        seed: int = 0,
        progress: Progress = lambda done, total: None,
        **known: Unpack[Known],
    ) -> Any:  # noqa: ANN401
        """Draw coherent curves at the asked times, and nothing else; see `predict`."""
        request = self.request(data, at, *read_known(**known))
        return request.sample(samples, seed=seed, progress=progress)

    def score(
        self,
        data: Any,  # noqa: ANN401
        held_out: Any,  # noqa: ANN401
        **known: Unpack[Known],
    ) -> dict[str, dict[str, float]]:
        """Compare predictions from data with values that were held out, per value column.

        Returns:
            For every value column the log-likelihood per value, the CRPS in the column's units, the
            share of values inside the central 90 %, and their number.
        """
        truth = open_container(held_out).frame.reset_index(drop=True)
        if isinstance(self.source, TableSource):
            truth = widened(truth, self.source)
        request = self.request(data, truth, *read_known(**known)).asked_of("measurement")
        for name in request.columns.values:
            if name not in truth.columns:
                raise TableError(
                    f"Expected the held-out table to have the column {name!r}, but it has "
                    f"{list(truth.columns)}; give it the same columns."
                )
        scores: dict[str, dict[str, float]] = {}
        for job, found in request.predictions():
            request.warn(job, found)
            predictive = found.predictive
            for i, name in enumerate(job.names):
                values = torch.from_numpy(numbers(truth, name)[request.targets.order])
                scores[name] = _score(predictive, i, values)
        return scores

    def check_takes_tables(self) -> None:
        """Refuse tables if the model is one of images."""
        if isinstance(self.source, PixelSource):
            raise ShapeError(
                f"{self.name!r} is a model of images, and takes no tables; complete a picture with "
                "`convcnp complete PHOTO --model`, or choose a model of series, such as 'general'."
            )


def read_known(
    *,
    lower: float | None = None,
    upper: float | None = None,
    positive: bool = False,
    **names: Any,
) -> tuple[Columns, Limits]:
    """Take what is said of a table to predict; other words are refused, as Python does."""
    unknown = names.keys() - Known.__annotations__.keys()
    if unknown:
        raise TypeError(f"predict() got an unexpected keyword argument {min(unknown)!r}")
    return Columns.named(**names), Limits.given(lower, upper, positive)


def _score(predictive: Predictive, channel: int, truth: torch.Tensor) -> dict[str, float]:
    """Score one channel of predictions (1, R, Dy) by values (R,), NaN where there is none."""
    values = truth[None, :, None].expand_as(predictive.mask)
    known = predictive.mask[0, :, channel] & ~truth.isnan()
    values = torch.where(known[None, :, None], values, predictive.mean)

    def mean(scores: torch.Tensor) -> float:
        return scores[0, known, channel].double().mean().item()

    return {
        "log_likelihood": mean(predictive.log_prob(values)),
        "crps": mean(predictive.crps(values)),
        coverage_key(0.9): mean(predictive.covers(values, 0.9)),
        "values": int(known.sum()),
    }
