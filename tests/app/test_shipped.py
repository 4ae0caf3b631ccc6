import json
from pathlib import Path

import pytest

from convcnp.app.shipped import Models
from convcnp.errors import ModelNotFoundError
from convcnp.predict.zoo import available


def test_every_shipped_model_is_listed_with_its_numbers_and_the_papers():
    listed = {shipped.name: shipped for shipped in Models().listed}
    assert list(listed) == [Path(result["name"]).name for result in available()]
    assert listed["eq-convcnp"].paper == (0.70, 5e-3)
    assert listed["mnist-convcnp-long"].paper == (1.21, 0.0)
    assert listed["general"].paper is None
    assert listed["general"].use.startswith("Any series")
    assert (listed["mnist-convcnp-long"].takes, listed["mnist-convcnp-long"].completes) == (
        "images",
        True,
    )
    assert (listed["general"].inputs, listed["general"].outputs) == (1, 1)
    assert not listed["mnist-attncnp"].completes


def test_a_path_is_no_name(tmp_path):
    with pytest.raises(ModelNotFoundError, match="name of a shipped model"):
        Models()[str(tmp_path)]


def test_a_model_is_loaded_once():
    models = Models()
    assert models["eq-convcnp"] is models["eq-convcnp"]


def test_the_papers_numbers_are_json_by_experiment():
    from convcnp.app.shipped import PAPER

    assert json.loads(PAPER.read_text())["table1/sawtooth-convcnpxl"] == [1.94, 1e-3]
