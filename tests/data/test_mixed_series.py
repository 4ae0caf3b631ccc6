"""Series of two simulators."""

import torch

from convcnp.data.mixed_series import MixedSeries
from convcnp.data.random_series import SeriesSource
from convcnp.data.source import seeded


def test_half_of_the_batches_are_in_units_of_their_own_and_half_in_typical_gaps():
    batches = [MixedSeries(max_points=40).draw(4, seeded(0, step)) for step in range(60)]
    # Series of cosines come in typical gaps and spreads, simulated ones in any unit.
    standard = [bool(batch.y_context.abs().max() < 12) for batch in batches]
    assert 15 < sum(standard) < 50
    assert max(float(batch.y_context.abs().max()) for batch in batches) > 100


def test_batches_of_cosines_are_those_of_their_source():
    step = next(s for s in range(20) if torch.rand((), generator=seeded(0, s)) < 0.5)
    generator = seeded(0, step)
    torch.rand((), generator=generator)
    expected = SeriesSource(max_points=40).draw(3, generator)
    found = MixedSeries(max_points=40).draw(3, seeded(0, step))
    torch.testing.assert_close(found.y_context, expected.y_context)


def test_what_is_held_out_has_series_of_their_own_lengths():
    assert MixedSeries(max_points=40).held_out("test") == MixedSeries(max_points=40, sizes="task")
