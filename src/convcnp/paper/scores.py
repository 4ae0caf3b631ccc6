"""What else a model is judged by, beside the log-likelihood on tasks of its own kind."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.core.predictive import GaussianPredictive, Predictive, coverage_key
from convcnp.core.task import Task
from convcnp.data import lynx_hare
from convcnp.data.lotka_volterra import UNIT, LotkaVolterraSource
from convcnp.data.plasticc import PlasticcSource
from convcnp.data.source import Source, seeded
from convcnp.models.base import Model
from convcnp.paper.baselines import kaggle_gp
from convcnp.training.evaluation import TEST_SEEDS, fixed_tasks, mean_and_error
from convcnp.training.experiment import EvaluationSettings

Predict = Callable[[Task], Predictive]

CENSUS = 1000  # simulations whose ends are counted
OUTLIER = -10.0  # log-likelihood of the GP below which the paper removes a point


@torch.inference_mode()
def further_scores(model: Model, source: Source, settings: EvaluationSettings) -> dict[str, Any]:
    """Return what a model of such tasks is judged by as well; nothing for most."""
    device = next((parameter.device for parameter in model.parameters()), "cpu")

    def predict(task: Task) -> Predictive:
        return model(task.to(device)).to("cpu")

    if isinstance(source, LotkaVolterraSource):
        return predator_prey(predict, source, settings)
    if isinstance(source, PlasticcSource):
        return light_curves(predict, source, settings)
    return {}


def predator_prey(
    predict: Predict, source: LotkaVolterraSource, settings: EvaluationSettings
) -> dict[str, Any]:
    """Count how simulations end, and give the model the real series."""
    tasks = {
        "interval": lynx_hare.hidden(),
        "every_interval": lynx_hare.every_interval(),
        "last_years": lynx_hare.last_years(),
    }
    return {
        "simulations": source.census(CENSUS, seeded(TEST_SEEDS[settings.seed])),
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
    """Compare with the Kaggle GP on the same points, with and without those it fails at."""
    seed = TEST_SEEDS[settings.seed]
    tasks, errors = (
        fixed_tasks(replace(source, quantity=quantity), settings.num_tasks, seed)
        for quantity in ("flux", "error")
    )
    scores: dict[str, dict[str, list[Tensor]]] = defaultdict(lambda: defaultdict(list))
    removed, asked = 0, 0
    for task, error in zip(tasks, errors, strict=True):
        assert task.y_target is not None
        bare = kaggle_gp.predict(task, error)
        noisy = kaggle_gp.with_noise(bare, error)
        kept = task.target_mask & (bare.log_prob(task.y_target) >= OUTLIER)
        asked += int(task.target_mask.sum())
        removed += int((task.target_mask & ~kept).sum())
        predictions = {"model": predict(task), "kaggle_gp": bare, "kaggle_gp_with_noise": noisy}
        for name, predictive in predictions.items():
            for points, mask in (("all_points", task.target_mask), ("kept_points", kept)):
                scores[points][name].append(_per_task(predictive, task.y_target, mask))
    tables = {points: _summaries(of) for points, of in scores.items()}
    return {"light_curves": {"removed_share": removed / asked, **tables}}


def _per_task(
    predictive: Predictive, y: Float[Tensor, "B M Dy"], mask: Bool[Tensor, "B M Dy"]
) -> Float[Tensor, "B 2"]:
    """Return the mean log-likelihood and squared error of each task, NaN where nothing counts."""
    per_point = torch.stack([predictive.log_prob(y), (predictive.mean - y) ** 2], -1).double()
    return (per_point * mask[..., None]).sum((1, 2)) / mask.sum((1, 2))[:, None]


def _summaries(scores: dict[str, list[Tensor]]) -> dict[str, dict[str, float]]:
    per_task = {name: torch.cat(parts) for name, parts in scores.items()}
    counts = per_task["model"].isfinite().all(1)
    summaries = {name: _summary(values[counts]) for name, values in per_task.items()}
    for name in summaries.keys() - {"model"}:
        better = (per_task["model"] > per_task[name])[counts, 0]
        summaries[name]["model_is_better"] = better.double().mean().item()
    return summaries


def _summary(per_task: Float[Tensor, "tasks 2"]) -> dict[str, float]:
    likelihood, squared = per_task.T
    mean, error = mean_and_error(likelihood)
    squared_mean, squared_error = mean_and_error(squared)
    return {
        "num_tasks": len(per_task),
        "log_likelihood": mean,
        "standard_error": error,
        "median_log_likelihood": likelihood.median().item(),
        "squared_error": squared_mean,
        "squared_error_standard_error": squared_error,
    }
