"""What else a model is judged by, beside the log-likelihood on tasks of its own kind."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.core.predictive import GaussianPredictive, Predictive, coverage_key
from convcnp.core.task import Task
from convcnp.data import lynx_hare
from convcnp.data.fur_counts import FurCounts
from convcnp.data.lotka_volterra import UNIT, LotkaVolterraSource
from convcnp.data.plasticc import FLUX_MEAN, FLUX_SCALE, PlasticcSource
from convcnp.data.source import NamedSource, Source, seeded
from convcnp.models.base import Model
from convcnp.paper.baselines import kaggle_gp
from convcnp.training.evaluation import TEST_SEEDS, fixed_tasks, mean_and_error
from convcnp.training.experiment import EvaluationSettings

Predict = Callable[[Task], Predictive]

CENSUS = 1000  # simulations whose ends are counted
BATCH = 128  # objects that are predicted at once
OUTLIER = -10.0  # log-likelihood of the GP below which the paper removes a point


@torch.inference_mode()
def further_scores(model: Model, source: Source, settings: EvaluationSettings) -> dict[str, Any]:
    """Return what a model of such tasks is judged by as well; nothing for most."""
    device = next((parameter.device for parameter in model.parameters()), "cpu")

    def predict(task: Task) -> Predictive:
        return model(task.to(device)).to("cpu")

    if isinstance(source, LotkaVolterraSource):
        simulations = source.census(CENSUS, seeded(TEST_SEEDS[settings.seed]))
        return {"simulations": simulations, **predator_prey(predict)}
    if isinstance(source, FurCounts):
        return predator_prey(lambda task: in_units_of(source, predict, task))
    if isinstance(source, PlasticcSource):
        return light_curves(predict, source, settings)
    return {}


def predator_prey(predict: Predict) -> dict[str, Any]:
    """Give a model of simulations the real series."""
    tasks = {
        "interval": lynx_hare.hidden(),
        "every_interval": lynx_hare.every_interval(),
        "last_years": lynx_hare.last_years(),
    }
    return {
        "lynx_hare": {name: _on_real_years(predict, task) for name, task in tasks.items()},
        "constant": {
            "lynx_hare": {name: _on_real_years(constant, task) for name, task in tasks.items()}
        },
    }


def constant(task: Task) -> Predictive:
    """Predict the mean and the standard deviation of the context everywhere: the least to beat."""
    observed = torch.where(task.context_mask, task.y_context, torch.nan)
    mean = observed.nanmean(1, keepdim=True)  # (B, 1, Dy)
    stddev = (observed - mean).square().nanmean(1, keepdim=True).sqrt()
    shape = task.target_mask.shape
    return GaussianPredictive(mean.expand(shape), stddev.expand(shape), task.target_mask)


def _on_real_years(predict: Predict, task: Task) -> dict[str, float]:
    """Score predictions of populations in thousands, both of a year together."""
    assert task.y_target is not None
    predictive = predict(task)
    change_of_units = task.dim_y * math.log(UNIT)
    log_likelihood = predictive.log_likelihood(task.y_target).mean().item() - change_of_units
    bands = {level: predictive.covers(task.y_target, level) for level in (0.5, 0.9)}
    shares = {k: v[predictive.mask].double().mean().item() for k, v in bands.items()}
    return {"log_likelihood": log_likelihood, **{coverage_key(k): v for k, v in shares.items()}}


def light_curves(
    predict: Predict, source: PlasticcSource, settings: EvaluationSettings
) -> dict[str, Any]:
    """Compare with the Kaggle GP on the same points, with and without those it fails at.

    Both predict objects in batches of a similar size, as `Predictor` does with many series: so the
    time of one is not that of padding.
    """
    observed = replace(source, units="none", errors=True)
    scores: dict[str, dict[str, list[Tensor]]] = defaultdict(lambda: defaultdict(list))
    seconds: dict[str, float] = defaultdict(float)
    removed, asked = 0, 0
    tasks = fixed_tasks(observed, settings.num_tasks, TEST_SEEDS[settings.seed])
    for task in _by_size(tasks):
        assert task.y_target is not None
        started = time.process_time()
        ours = predict_fluxes(predict, source, task)
        seconds["model"] += time.process_time() - started
        started = time.process_time()
        bare = kaggle_gp.predict(task)
        seconds["kaggle_gp"] += time.process_time() - started
        noisy = kaggle_gp.with_noise(bare, task)
        kept = task.target_mask & (in_papers_units(bare).log_prob(_papers(task)) >= OUTLIER)
        asked += int(task.target_mask.sum())
        removed += int((task.target_mask & ~kept).sum())
        predictions = {"model": ours, "kaggle_gp": bare, "kaggle_gp_with_noise": noisy}
        for name, predictive in predictions.items():
            for points, mask in (("all_points", task.target_mask), ("kept_points", kept)):
                scores[points][name].append(_per_object(predictive, task, mask))
    tables = {points: _summaries(of) for points, of in scores.items()}
    per_object = {name: total / settings.num_tasks for name, total in seconds.items()}
    return {
        "light_curves": {
            "removed_share": removed / asked,
            "seconds_per_object": per_object,
            **tables,
        }
    }


def _by_size(tasks: Iterable[Task]) -> Iterator[Task]:
    """Yield the same objects in batches of those with about as many points, as many observed."""

    def cut(one: Task) -> Task:
        asked = one.target_mask.any(2)[0]
        return one.packed().of_targets(lambda tensor: tensor[:, asked])

    objects = [cut(task[i : i + 1]) for task in tasks for i in range(len(task))]
    objects.sort(key=_size)
    for start in range(0, len(objects), BATCH):
        yield Task.stack(objects[start : start + BATCH])


def _size(one: Task) -> tuple[int, int]:
    """Return about how many points an object has, in powers of two, and how many are observed."""
    observed = one.x_context.shape[1]
    return round(math.log2(observed + one.x_target.shape[1])), observed


def predict_fluxes(predict: Predict, source: PlasticcSource, task: Task) -> Predictive:
    """Predict days and fluxes by a model that sees them in its source's units."""
    return in_units_of(source, predict, task if source.errors else task.without_errors())


def in_units_of(source: NamedSource, predict: Predict, task: Task) -> Predictive:
    """Predict a task in its own units by a model that sees it in those of its source."""
    units = source.normaliser.units(task)
    return units.to_user(task.x_target, predict(units.to_model(task)))


def in_papers_units(predictive: Predictive) -> Predictive:
    """Express predicted fluxes in the paper's units."""
    return predictive.affine(-FLUX_MEAN / FLUX_SCALE, 1 / FLUX_SCALE)


def _papers(task: Task) -> Float[Tensor, "B M 6"]:
    """Return the fluxes to be predicted in the paper's units."""
    assert task.y_target is not None
    return (task.y_target - FLUX_MEAN) / FLUX_SCALE


def _per_object(
    predictive: Predictive, task: Task, mask: Bool[Tensor, "B M Dy"]
) -> Float[Tensor, "B 4"]:
    """Return means over each object's points that count, NaN where none does.

    Log-likelihood and squared error in the paper's units; squared error in multiples of the mean
    square of all the object's fluxes; and the share of points in the central 90 %. Errors are those
    of the median, a Gaussian's mean: the mean of a mixture goes a part of the way to a flare that
    is merely possible.
    """
    assert task.y_target is not None
    y, found = _papers(task), in_papers_units(predictive)
    squares = (task.y_context**2).sum((1, 2)) + (task.y_target**2).sum((1, 2))
    count = task.context_mask.sum((1, 2)) + task.target_mask.sum((1, 2))
    away = predictive.quantile(0.5) - task.y_target
    own = away / (squares / count).sqrt()[:, None, None]
    per_point = torch.stack(
        [found.log_prob(y), (away / FLUX_SCALE) ** 2, own**2, found.covers(y).to(y)], -1
    )
    return (per_point.double() * mask[..., None]).sum((1, 2)) / mask.sum((1, 2))[:, None]


def _summaries(scores: dict[str, list[Tensor]]) -> dict[str, dict[str, float]]:
    per_object = {name: torch.cat(parts) for name, parts in scores.items()}
    counts = per_object["model"].isfinite().all(1)
    summaries = {name: _summary(values[counts]) for name, values in per_object.items()}
    for name in summaries.keys() - {"model"}:
        better = (per_object["model"] > per_object[name])[counts, 0]
        summaries[name]["model_is_better"] = better.double().mean().item()
    return summaries


def _summary(per_object: Float[Tensor, "objects 4"]) -> dict[str, float]:
    likelihood, squared, own, coverage = per_object.T
    mean, error = mean_and_error(likelihood)
    squared_mean, squared_error = mean_and_error(squared)
    own_mean, own_error = mean_and_error(own)
    return {
        "num_tasks": len(per_object),
        "log_likelihood": mean,
        "standard_error": error,
        "median_log_likelihood": likelihood.median().item(),
        "squared_error": squared_mean,
        "squared_error_standard_error": squared_error,
        "own_squared_error": own_mean,
        "own_squared_error_standard_error": own_error,
        coverage_key(0.9): coverage.mean().item(),
    }
