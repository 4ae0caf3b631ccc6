"""What every source of tasks has in common."""

from dataclasses import dataclass

import pytest
import torch

from convcnp.data.functions import GPSource
from convcnp.data.source import FiniteSource, NamedSource, Source, seeded
from convcnp.errors import SettingError


def test_keys_that_differ_in_any_part_give_different_numbers():
    keys = [(0, 0), (0, 1), (1, 0), (0, 2**31), (2**31, 0), (0, 0, 1), (0, 1, 1)]
    draws = {torch.rand(1, generator=seeded(*key)).item() for key in keys}
    assert len(draws) == len(keys)


def test_a_key_that_does_not_fit_is_refused():
    with pytest.raises(SettingError, match=r"between 0 and 2\*\*32 - 1, got 4294967296"):
        seeded(0, 2**32)


def test_equal_keys_give_equal_numbers():
    first, again = (torch.rand(3, generator=seeded(3, 1, 4)) for _ in range(2))
    assert torch.equal(first, again)


def test_a_source_is_known_by_its_members():
    @dataclass
    class Least:
        dim_x: int = 1
        dim_y: int = 1

        def draw(self, batch_size, generator):
            raise NotImplementedError

        def ceiling(self, task):
            return None

    assert isinstance(Least(), Source)
    assert not isinstance(Least(), NamedSource)
    assert isinstance(GPSource(), NamedSource)
    assert not isinstance(GPSource(), FiniteSource)
