import math

import numpy as np
import pytest
import torch

from convcnp.models.dictionary.catalogue import ENDLESS, Catalogue, Sampling, entries_for
from convcnp.models.dictionary.kernels import EQ, MATERN32
from convcnp.models.dictionary.variations import (
    Item,
    Number,
    PossibleSeasons,
    changed,
    improved,
    items,
    moved_periods,
    numbers,
    put_together,
    variations,
    with_another_season,
)

SEASON, ROUGH = (EQ, 30.0, 12.0, 1.0), (MATERN32, 3.0, math.inf, 0.0)
ITEM, SPAN = Item({SEASON: 0.8, ROUGH: 0.2}, 0.1, -3.0, 1), 120.0
TIMES = Sampling(np.linspace(0, SPAN, 1201))


def test_entries_are_the_same_when_put_together_again():
    entries = entries_for(Catalogue(), [12.0, 5.0], 100)
    again = put_together(items(entries))
    lag = torch.linspace(0, 40, 17).double()
    torch.testing.assert_close(
        again.kernels(lag)[again.kernel], entries.kernels(lag)[entries.kernel]
    )
    for name in ("noise", "log_prior", "family"):
        torch.testing.assert_close(getattr(again, name), getattr(entries, name))


def test_a_variation_changes_one_number_up_and_down():
    found = variations(ITEM, TIMES)
    assert [n.kind for n in numbers(ITEM, TIMES)] == [
        *("noise", "length", "sharpness", "period", "length", "odds")
    ]
    assert len(found) == 12
    assert ITEM not in found
    assert [each.noise for each in found[:2]] == pytest.approx([0.04, 0.25])
    for each in found:
        assert sum(each.kernel.values()) == pytest.approx(1)
        assert (each.log_prior, each.family) == (-3.0, 1)
    moved = [base for each in found for base in each.kernel if base[2] not in (12.0, math.inf)]
    assert [1 / base[2] - 1 / 12 for base in moved] == pytest.approx([-0.1 / SPAN, 0.1 / SPAN])


def test_odds_double_and_halve():
    shares = {round(each.kernel.get(ROUGH, 0), 6) for each in variations(ITEM, TIMES)}
    assert {round(2 / 6, 6), round(1 / 9, 6)} <= shares


def test_an_exact_season_stays_exact_though_its_period_moves():
    exact = Item({(EQ, 1e6, 12.0, 0.0): 1.0}, 0.1, 0.0, 1)
    assert [n.kind for n in numbers(exact, TIMES)] == ["noise", "period"]
    assert all(base[1] == 1e6 for each in variations(exact, TIMES) for base in each.kernel)


def test_a_period_never_becomes_endless():
    slow = Item({(EQ, 1e6, 200.0, 0.0): 1.0}, 0.1, 0.0, 1)
    moved = moved_periods(slow, Sampling(np.arange(21.0)))
    assert all(0 < base[2] < 1e6 for each in moved for base in each.kernel)


def test_periods_move_both_ways_and_only_where_there_are_some():
    moved = moved_periods(ITEM, TIMES)
    periods = [base[2] for each in moved for base in each.kernel if base[2] < math.inf]
    assert {each.log_prior for each in moved} == {-5.0}  # they pay for it
    assert len(moved) == 6 and min(periods) < 11.7 and max(periods) > 12.3
    assert moved_periods(Item({ROUGH: 1.0}, 0.1, 0.0, 0), TIMES) == []


def test_parts_that_become_alike_are_one():
    other = (MATERN32, 3.0 * 1.6, math.inf, 0.0)
    item = Item({ROUGH: 0.5, other: 0.5}, 0.1, 0.0, 0)
    assert any(each.kernel == {other: 1.0} for each in variations(item, TIMES))


def heights(item: Item, top: dict[Number, float]) -> list[float]:
    """Return the evidence of variations, if it falls off as a parabola around the top."""
    here = sum(t**2 for t in top.values())
    return [
        -(here - top.get(n, 0.0) ** 2 + (step - top.get(n, 0.0)) ** 2)
        for n in numbers(item, TIMES)
        for step in (-1.0, 1.0)
    ]


def test_all_numbers_go_to_the_top_of_their_parabolas_at_once():
    top = {Number("noise"): 0.5, Number("length", 1): -1.25, Number("period"): 0.25}
    found = improved(ITEM, -sum(t**2 for t in top.values()), heights(ITEM, top), TIMES)
    expected = changed(ITEM, top, TIMES)
    assert found.noise == pytest.approx(expected.noise)
    for (base, weight), (other, share) in zip(
        found.kernel.items(), expected.kernel.items(), strict=True
    ):
        assert base == pytest.approx(other) and weight == pytest.approx(share)


def test_a_number_goes_no_farther_than_a_step_and_a_half_and_not_where_nothing_is_known():
    count = len(numbers(ITEM, TIMES))
    far = improved(ITEM, 0.0, [-100.0, 99.0, *[0.0] * 2 * (count - 1)], TIMES)
    assert far.noise == pytest.approx(0.1 * 2.5**1.5)
    rising = improved(ITEM, 0.0, [-1.0, 2.0, *[0.0] * 2 * (count - 1)], TIMES)
    assert rising.noise == pytest.approx(0.1 * 2.5)
    assert improved(ITEM, 0.0, [-math.inf, 1.0, *[0.0] * 2 * (count - 1)], TIMES).noise == 0.1


def test_a_season_becomes_no_sharper_than_its_times_tell():
    months = Sampling(np.arange(120.0))
    sharper = changed(ITEM, {Number("sharpness", 0): 9.0}, months)
    assert next(iter(sharper.kernel))[3] == pytest.approx(months.sharpest(12.0))
    assert next(iter(changed(ITEM, {Number("sharpness", 0): 1.0}, months).kernel))[3] == 1.8


def test_a_period_that_parts_of_a_series_tell_too_little_of_is_left_as_it_is():
    hours = Sampling(np.arange(9000.0), told=576)
    year = Item({(EQ, ENDLESS, 8766.0, 1.0): 1.0}, 0.1, 0.0, 1)
    assert [n.kind for n in numbers(year, hours)] == ["noise", "sharpness"]
    assert moved_periods(year, hours) == []


def test_another_season_is_exact_pays_its_price_and_leaves_the_noise_as_large():
    found = with_another_season(ITEM, PossibleSeasons([12.2, 50.0], 6.0, 4), TIMES)
    assert len(found) == 4  # 12.2 is 12 again
    for each in found:
        ((base, share),) = [part for part in each.kernel.items() if part[0] not in ITEM.kernel]
        assert base[:3] == (EQ, ENDLESS, 50.0)
        assert each.kernel[SEASON] == pytest.approx(0.8 * (1 - share))
        assert each.noise == pytest.approx(ITEM.noise * (1 - share))
        assert (each.log_prior, each.family) == (-9.0, 4)


def test_seasons_are_those_of_the_catalogue():
    found = PossibleSeasons.of(entries_for(Catalogue(), [12.0, 5.0], 100))
    assert found.periods == [5.0, 12.0]
    assert found.price == pytest.approx(math.log(100), rel=0.01)
    assert PossibleSeasons.of(entries_for(Catalogue(), [], 100)).periods == []
