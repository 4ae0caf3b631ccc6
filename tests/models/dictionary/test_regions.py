"""Many points: regions that cover the plane, and blend where they meet."""

import numpy as np
import torch

from convcnp.models.dictionary import regions as module
from convcnp.models.dictionary.plane import PlaneDictionary
from convcnp.models.dictionary.regions import regions


def scattered(n: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).uniform(0, 40, (n, 2)))


def test_few_points_are_one_region():
    (region,) = regions(scattered(400))
    assert len(region.points) == 400
    assert (region.share(scattered(9)) == 1).all()


def test_every_point_of_the_plane_has_a_region_that_sees_its_neighbours():
    x, at = scattered(3000), 2 * scattered(500, 1) - 20
    found = regions(x)
    shares = torch.stack([region.share(at) for region in found])
    assert shares.sum(0).min() > 0
    assert max(len(region.points) for region in found) <= module._WHOLE
    nearest = torch.cdist(at, x).argmin(1)
    for region, share in zip(found, shares, strict=True):
        assert torch.isin(nearest[share > 0], region.points).all()


def test_clusters_and_equal_coordinates_are_cut_too():
    x = torch.cat([scattered(600) / 1e6, scattered(600)])
    x[700:900, 0] = 3.0
    found = regions(x)
    assert len(found) > 4
    assert torch.cat([region.points for region in found]).unique().numel() == len(x)


def test_predictions_are_continuous_across_seams():
    x = scattered(900)
    y = (x[:, 0] / 3).sin() + (x[:, 1] / 5).cos()
    model = PlaneDictionary()
    fitted = model.fit(x, y)
    assert len(fitted.regions) > 1
    line = torch.stack([torch.linspace(5, 35, 400), torch.full((400,), 17.0)], 1).double()
    mean, scale = fitted.predict(fitted.points.places(line))
    steps = mean[0].diff().abs()
    assert steps.max() < 5 * steps.median()
    truth = (line[:, 0] / 3).sin() + (line[:, 1] / 5).cos()
    found = (model.components(fitted, line).location[0] - truth).abs()
    assert found.max() < 0.05
    assert scale.isfinite().all()
