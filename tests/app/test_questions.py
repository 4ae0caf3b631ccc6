import pytest
from pydantic import ValidationError

from convcnp.app.questions import LEVELS, Band, SeriesQuestion
from convcnp.predict.answers import quantile_name


def test_a_body_takes_no_unknown_field():
    with pytest.raises(ValidationError, match="Extra inputs"):
        SeriesQuestion(table="x", at="/etc/passwd")


def test_bands_hold_the_levels():
    assert {quantile_name(level) for level in LEVELS} <= set(Band.model_fields)
