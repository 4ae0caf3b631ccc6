"""The shipped weights predict what they always have."""

import pytest
import torch

from convcnp.storage import read_tensors
from promises.store_predictions import SHIPPED, STORED, predictions

TOLERANCE = 3e-6  # other orders of summation, by other processors
OF_ATTENTION = 2e-4  # its exponentials carry them further: two processors differed by 5e-5


def test_every_shipped_model_has_its_predictions_written_down():
    assert sorted(read_tensors(STORED)[0]) == SHIPPED


def assert_unchanged(name, found):
    stored = read_tensors(STORED)[0][name]
    assert stored.isfinite().all()
    tolerance = OF_ATTENTION if "attncnp" in name else TOLERANCE
    torch.testing.assert_close(found, stored, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_model_predicts_what_it_always_has(name):
    assert_unchanged(name, predictions(name))


def test_a_changed_prediction_is_found():
    with pytest.raises(AssertionError):
        assert_unchanged("eq-convcnp", predictions("eq-convcnp") + 1e-5)
