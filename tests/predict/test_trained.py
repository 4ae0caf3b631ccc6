"""A model, its name, and what it was trained on."""

import convcnp
from convcnp.frames.columns import Columns


def test_columns_are_those_of_the_table_that_a_model_was_trained_on(own_series):
    assert convcnp.load("general").trained.columns == Columns()
    learned = own_series.trained
    assert (learned.name, learned.model) == (own_series.name, own_series.model)
    assert learned.columns == own_series.source.columns
