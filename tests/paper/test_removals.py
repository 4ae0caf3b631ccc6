"""Ways of removing points: how many, where, and never the ends of what is to be interpolated."""

import pytest
import torch

from convcnp.data.source import seeded
from convcnp.paper.removals import (
    FORECAST,
    GAPS,
    REMOVALS,
    removed_at_random,
    removed_at_the_end,
    removed_in_blocks,
    removed_in_the_middle,
)


def blocks(removed):
    """Return the first and one past the last point of every block."""
    edges = torch.diff(removed.int(), prepend=torch.zeros(1), append=torch.zeros(1))
    starts, ends = (torch.nonzero(edges == sign).flatten().tolist() for sign in (1, -1))
    return list(zip(starts, ends, strict=True))


@pytest.mark.parametrize("num_points", [9, 52, 91, 365])
@pytest.mark.parametrize("seed", range(20))
def test_thirty_percent_are_removed_at_random_and_the_ends_stay(num_points, seed):
    removed = removed_at_random(num_points, seeded(seed))
    assert removed.sum() == round(0.3 * num_points)
    assert not removed[0]
    assert not removed[-1]


@pytest.mark.parametrize("num_points", [52, 91, 365])
@pytest.mark.parametrize("seed", range(60))
def test_three_blocks_are_removed_with_observations_around_each(num_points, seed):
    removed = removed_in_blocks(num_points, seeded(seed))
    assert [end - start for start, end in blocks(removed)] == [round(0.06 * num_points)] * 3
    assert not removed[0]
    assert not removed[-1]
    assert 0.15 <= removed.double().mean() <= 0.2


@pytest.mark.parametrize("num_points", range(9, 60))
def test_few_points_lose_fewer_blocks_of_two(num_points):
    removed = removed_in_blocks(num_points, seeded(0))
    assert not removed[0]
    assert not removed[-1]
    assert len(blocks(removed)) == (1 if num_points < 17 else 2 if num_points < 28 else 3)
    assert removed.sum() <= max(2, 0.25 * num_points)


@pytest.mark.parametrize("num_points", [9, 10, 11, 52, 365])
@pytest.mark.parametrize("seed", range(40))
def test_one_block_is_removed_within_the_middle_half(num_points, seed):
    ((start, end),) = blocks(removed_in_the_middle(num_points, seeded(seed)))
    assert end - start == max(2, round(0.12 * num_points))
    assert num_points // 4 <= start
    assert end <= num_points - num_points // 4


@pytest.mark.parametrize("num_points", [9, 52, 365])
def test_a_forecast_is_of_the_last_points(num_points):
    removed = removed_at_the_end(num_points, seeded(0))
    assert blocks(removed) == [(num_points - max(2, round(0.12 * num_points)), num_points)]


def test_the_seed_decides_what_is_removed():
    for remove in (removed_at_random, removed_in_blocks, removed_in_the_middle):
        assert torch.equal(remove(91, seeded(1)), remove(91, seeded(1)))
        assert not torch.equal(remove(91, seeded(1)), remove(91, seeded(2)))


def test_published_numbers_rest_on_these_points():
    # Result files are not computed anew when this changes: whoever moves a point must run them.
    assert removed_at_random(52, seeded(0)).nonzero().flatten().tolist()[:4] == [4, 5, 13, 21]
    assert [start for start, _ in blocks(removed_in_blocks(52, seeded(0)))] == [4, 16, 42]


def test_gaps_are_all_but_the_forecast_which_has_one_seed():
    assert (*GAPS, FORECAST) == tuple(REMOVALS) == ("random", "blocks", "middle", "forecast")
    assert [len(removal.seeds) for removal in REMOVALS.values()] == [3, 3, 3, 1]
    assert [len(removal.repeated(40)) for removal in REMOVALS.values()] == [40, 40, 40, 1]
    assert all(removal.repeated(None) == removal.seeds for removal in REMOVALS.values())
