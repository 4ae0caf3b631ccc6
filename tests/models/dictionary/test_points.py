"""Points as the dictionary of the plane sees them."""

import numpy as np
import torch

from convcnp.models.dictionary.points import prepared_points


def scattered(n: int = 200) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).uniform(5, 9, (n, 2)))


def test_the_typical_distance_to_a_neighbour_is_one():
    points = prepared_points(scattered(), torch.arange(200.0))
    away = torch.cdist(points.x, points.x).fill_diagonal_(torch.inf).amin(1)
    assert abs(away.median().item() - 1) < 1e-9
    assert points.x.min() == 0


def test_inputs_of_one_kind_share_a_unit_and_others_have_their_own():
    x, y = scattered(), torch.arange(200.0)
    alike = prepared_points(x * torch.tensor([1.0, 3.0]), y)
    assert alike.unit[0] == alike.unit[1]
    apart = prepared_points(x * torch.tensor([1.0, 1000.0]), y)
    spread = apart.x.std(0)
    torch.testing.assert_close(spread[0], spread[1])


def test_places_are_in_the_units_of_the_points():
    x = scattered()
    points = prepared_points(x, torch.arange(200.0))
    ours = points.places(x)
    assert torch.equal(ours[torch.argsort(ours[:, 0])], points.x)


def test_what_shares_a_place_is_averaged_unless_errors_are_known():
    x = torch.tensor([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0]])
    y = torch.tensor([1.0, 5.0, 3.0])
    points = prepared_points(x, y)
    assert points.count.tolist() == [1.0, 2.0]
    values = points.level[0] + points.scale[0] * points.z[0]
    torch.testing.assert_close(values, torch.tensor([5.0, 2.0], dtype=torch.float64))
    known = prepared_points(x, y, torch.tensor([0.1, 0.2, 0.3]))
    assert known.num_points == 3
    torch.testing.assert_close(
        known.extra * known.scale[0] ** 2, torch.tensor([0.2, 0.1, 0.3], dtype=torch.float64)
    )


def test_stretches_are_the_nearest_to_the_middle_and_of_many_points_several():
    few = prepared_points(scattered(), torch.arange(200.0))
    (part,) = few.stretches(50)
    middle = few.x.median(0).values
    away = (few.x - middle).square().sum(1).sort().values
    assert part.num_points == 50
    assert (part.x - middle).square().sum(1).max() <= away[49]
    assert few.stretches(300) == [few]
    many = prepared_points(scattered(2000), torch.arange(2000.0)).stretches(50)
    assert [each.num_points for each in many] == [50] * 3
