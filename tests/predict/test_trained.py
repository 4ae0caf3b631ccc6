"""A model, its name, and what it was trained on."""

import convcnp
from convcnp.frames.columns import Columns


def test_columns_are_those_of_the_table_that_a_model_was_trained_on(own_series):
    assert convcnp.load("general").trained.columns == Columns()
    own = convcnp.load(own_series / "model")
    assert (own.trained.name, own.trained.model) == (own.name, own.model)
    assert own.trained.columns == own.source.columns != Columns()
