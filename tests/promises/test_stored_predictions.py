"""The shipped weights predict what they always have."""

import pytest
import torch

from convcnp.storage import read_tensors
from promises.store_predictions import SHIPPED, STORED, predictions

TOLERANCE = 1e-6  # other orders of summation


def test_every_shipped_model_has_its_predictions_written_down():
    assert sorted(read_tensors(STORED)[0]) == SHIPPED


def assert_unchanged(name, found):
    stored = read_tensors(STORED)[0][name]
    assert stored.isfinite().all()
    torch.testing.assert_close(found, stored, atol=TOLERANCE, rtol=TOLERANCE)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_model_predicts_what_it_always_has(name):
    assert_unchanged(name, predictions(name))


def test_a_changed_prediction_is_found():
    with pytest.raises(AssertionError):
        assert_unchanged("eq-convcnp", predictions("eq-convcnp") + 1e-5)
