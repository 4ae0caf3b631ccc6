"""Everything we raise on purpose."""

import pytest

from convcnp import errors
from convcnp.errors import (
    ConvCNPError,
    SettingError,
    check_not_negative,
    check_positive,
    did_you_mean,
)

ERRORS = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, ConvCNPError) and value is not ConvCNPError
]


@pytest.mark.parametrize("error", ERRORS)
def test_every_error_is_ours_and_resembles_a_builtin(error):
    assert any(base.__module__ == "builtins" for base in error.__bases__)
    assert error.__doc__.startswith("Raise when ")


def test_the_nearest_name_is_suggested():
    assert did_you_mean("sunspot", ["nile", "sunspots"]) == "; did you mean 'sunspots'?"
    assert did_you_mean("xyz", ["nile", "sunspots"]) == "; check the name."


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_a_setting_is_positive(value):
    with pytest.raises(SettingError, match=f"width must be a positive number, got {value}"):
        check_positive("width", value)
    check_positive("width", 0.1)


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf")])
def test_a_setting_is_not_negative(value):
    with pytest.raises(SettingError, match=f"margin must be zero or positive, got {value}"):
        check_not_negative("margin", value)
    check_not_negative("margin", 0)
