import math

import pytest
import torch

from convcnp.models.dictionary.catalogue import Catalogue, entries_for
from convcnp.models.dictionary.kernels import EQ, MATERN32
from convcnp.models.dictionary.variations import Item, items, put_together, variations

SEASON, ROUGH = (EQ, 30.0, 12.0, 1.0), (MATERN32, 3.0, math.inf, 0.0)
ITEM = Item({SEASON: 0.8, ROUGH: 0.2}, 0.1, -3.0, 1)


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
    found = list(variations(ITEM))
    assert len(found) == 2 + 2 * 3 + 2 * 2  # noise; lengths and a sharpness; shares
    assert ITEM not in found
    assert [each.noise for each in found[:2]] == pytest.approx([0.04, 0.25])
    for each in found:
        assert sum(each.kernel.values()) == pytest.approx(1)
        assert (each.log_prior, each.family) == (-3.0, 1)
        assert {base[2] for base in each.kernel} == {12.0, math.inf}


def test_odds_double_and_halve():
    shares = {round(each.kernel.get(ROUGH, 0), 6) for each in variations(ITEM)}
    assert {round(2 / 6, 6), round(1 / 9, 6)} <= shares


def test_an_exact_season_stays_exact():
    exact = (EQ, 1e6, 12.0, 0.0)
    (kernel,) = {tuple(each.kernel) for each in variations(Item({exact: 1.0}, 0.1, 0.0, 1))}
    assert kernel == (exact,)


def test_parts_that_become_alike_are_one():
    other = (MATERN32, 3.0 * 1.6, math.inf, 0.0)
    item = Item({ROUGH: 0.5, other: 0.5}, 0.1, 0.0, 0)
    assert any(each.kernel == {other: 1.0} for each in variations(item))
