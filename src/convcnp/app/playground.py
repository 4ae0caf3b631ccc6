"""The playground: points in a plane, and what models make of them while they move."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.app.questions import LEVELS, Band, Curve, Drawn, DrawQuestion, PlaygroundQuestion
from convcnp.app.shipped import Models
from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.data.functions import FunctionSource
from convcnp.data.source import seeded
from convcnp.errors import SettingError, ShapeError
from convcnp.predict.answers import quantile_name
from convcnp.predict.predictor import Predictor
from convcnp.predict.user_units import InUserUnits
from convcnp.training.catalogue import find_source

EXACT = "exact GP"
_DENSE = 400  # places of a drawn function
_HIDDEN = 0.3  # of the width of a drawn function


def play(question: PlaygroundQuestion, models: Models) -> Curve:
    """Predict along the plane by each of the models that are asked, and by the exact GP.

    Example:
        >>> question = PlaygroundQuestion(
        ...     points=[(0, 1)], low=-1, high=1, places=3, models=["eq-convcnp"], exact="eq"
        ... )
        >>> [band.name for band in play(question, Models()).bands]
        ['eq-convcnp', 'exact GP']
    """
    if not question.low < question.high:
        raise SettingError(
            f"Expected low below high, got {question.low:g} and {question.high:g}; exchange them."
        )
    places = torch.linspace(question.low, question.high, question.places, dtype=torch.float64)
    task = _task(question, places)
    bands = []
    for name in question.models:
        predictor = models[name]
        _check_plays(predictor)
        predictive = InUserUnits(predictor.model, predictor.source)(task)
        bands.append(_band(name, predictive, question))
    if question.exact is not None:
        exact = find_source(question.exact).ceiling(task)
        if exact is not None:
            bands.append(_band(EXACT, exact, question))
    return Curve(x=places.tolist(), bands=bands)


def _task(question: PlaygroundQuestion, places: Float[Tensor, " M"]) -> Task:
    """Ask for the places of the chart, followed by the hidden points."""
    points, hidden = _as_points(question.points), _as_points(question.hidden)
    x = torch.cat([places, hidden[:, 0]])
    return Task(points[None, :, :1], points[None, :, 1:].float(), x[None, :, None])


def _as_points(points: list[tuple[float, float]]) -> Float[Tensor, "N 2"]:
    return torch.tensor(points, dtype=torch.float64).reshape(-1, 2)


def _check_plays(predictor: Predictor) -> None:
    predictor.check_takes_tables()
    if predictor.model.dim_y != 1:
        raise ShapeError(
            f"Expected a model of one value over time, got {predictor.name!r} of "
            f"{predictor.model.dim_y}; choose another."
        )


@torch.inference_mode()
def _band(name: str, predictive: Predictive, question: PlaygroundQuestion) -> Band:
    count = question.places
    edges = {
        quantile_name(level): predictive.quantile(level)[0, :count, 0].tolist() for level in LEVELS
    }
    mean = predictive.mean
    score = None
    if question.hidden:
        value = mean.clone()
        value[0, count:, 0] = _as_points(question.hidden)[:, 1].to(value)
        score = predictive.log_prob(value)[0, count:, 0].double().mean().item()
    return Band(name=name, mean=mean[0, :count, 0].tolist(), log_likelihood=score, **edges)


def draw(question: DrawQuestion) -> Drawn:
    """Draw a function of a kind at random points, and hide those of a stretch.

    Example:
        >>> found = draw(DrawQuestion(kind="sawtooth", seed=1, points=12))
        >>> len(found.points) + len(found.hidden)
        12
    """
    source = find_source(question.kind)
    assert isinstance(source, FunctionSource)
    generator = seeded(question.seed)
    unit = torch.rand(question.points, dtype=torch.float64, generator=generator).sort().values
    width = source.high - source.low
    points = source.low + width * unit
    dense = torch.linspace(source.low, source.high, _DENSE, dtype=torch.float64)
    x = torch.cat([dense, points])
    y = source.for_curves().values(x[None, :, None], generator)[0, :, 0]
    start = torch.rand((), dtype=torch.float64, generator=generator) * (1 - _HIDDEN)
    is_hidden = (unit >= start) & (unit < start + _HIDDEN)
    pairs = torch.stack([points, y[_DENSE:]], 1)
    return Drawn(
        x=dense.tolist(),
        y=y[:_DENSE].tolist(),
        points=[(a, b) for a, b in pairs[~is_hidden].tolist()],
        hidden=[(a, b) for a, b in pairs[is_hidden].tolist()],
    )
