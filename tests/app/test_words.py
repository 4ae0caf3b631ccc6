import shlex

from convcnp.app.words import command


def test_names_that_are_code_are_quoted():
    text = command("predict", "$(rm -rf x).csv", {"time": "a; b"})
    assert shlex.split(text) == ["convcnp", "predict", "$(rm -rf x).csv", "--time", "a; b"]
