"""GaussianProcessDictionary: a map from a task to a distribution, without weights."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.core.task import Task
from convcnp.models.dictionary.catalogue import Catalogue, entries_for
from convcnp.models.dictionary.evidence import Prior
from convcnp.models.dictionary.funnel import Funnel
from convcnp.models.dictionary.mixture import Mixture
from convcnp.models.dictionary.periodogram import find_periods
from convcnp.models.dictionary.series import prepared
from convcnp.models.dictionary.windows import Fitted, fit

_NODES, _NODE_WEIGHTS = (-(3**0.5), 0.0, 3**0.5), (1 / 6, 2 / 3, 1 / 6)  # Gauss-Hermite


class GaussianProcessDictionary:
    def __init__(self, catalogue=Catalogue(), prior=Prior(), funnel=Funnel(), use_log=True):
        self.catalogue, self.prior, self.funnel = catalogue, prior, funnel

    def fit(self, x, y, variance=None) -> Fitted:
        series = prepared(x, y, variance)
        periods = find_periods(series.x, series.z, series.step)
        entries = entries_for(self.catalogue, periods, series.num_times)
        return fit(series, entries, self.funnel, self.prior)

    @torch.inference_mode()
    def __call__(self, task: Task) -> Mixture:
        k = 3 * self.funnel.components
        shape = (*task.target_mask.shape, k)
        w = torch.zeros(shape, dtype=torch.float64)
        w[..., 0] = 1
        loc = torch.zeros_like(w)
        sd = torch.ones_like(w)
        lg = torch.zeros(shape, dtype=torch.bool)
        for b in range(task.batch_size):
            for c in range(task.dim_y):
                seen = task.context_mask[b, :, c]
                asked = task.target_mask[b,:,c]
                if not seen.any() or not asked.any():
                    continue
                fitted = self.fit(task.x_context[b, seen, 0], task.y_context[b, seen, c])
                out = components(fitted, task.x_target[b, asked, 0])
                kk = out[0].shape[-1]
                for t, o in zip((w, loc, sd, lg), out):
                    t[b, asked, c, :kk] = o
        return Mixture(w, loc, sd, lg, task.target_mask)


def components(fitted: Fitted, x):
    s = fitted.series
    form = fitted.weighed.form
    mean, scale = fitted.predict(s.times(x))  # c m
    mean = s.level[form, None] + s.scale[form, None] * mean
    scale = s.scale[form, None] * scale
    weight, factor = student(fitted.freedom)
    w = (fitted.weighed.weight[:, None] * weight).flatten()
    loc = mean[:, None].expand(-1, len(weight), -1).flatten(0, 1).T
    sd = (scale[:, None] * factor[:, None]).flatten(0, 1).T
    lg = (form[:, None] == 1).expand(-1, len(weight)).flatten()
    return w.expand_as(loc), loc, sd, lg.expand_as(loc)


def student(freedom):
    half = torch.tensor(freedom / 2, dtype=torch.float64)
    centre = torch.digamma(half) - half.log()
    spread = torch.polygamma(1, half).sqrt()
    nodes = torch.tensor(_NODES, dtype=torch.float64)
    return torch.tensor(_NODE_WEIGHTS, dtype=torch.float64), torch.exp(-0.5 * (centre + nodes * spread))
