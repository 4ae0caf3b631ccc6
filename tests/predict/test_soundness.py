"""What a model's folder may say."""

import json

import pytest
import torch

from convcnp import load
from convcnp.errors import CheckpointError
from convcnp.predict import soundness
from convcnp.storage import read_tensors, write_tensors
from helpers import write_untrained


@pytest.fixture
def folder(tmp_path):
    write_untrained(tmp_path, "eq", {"name": "convcnp-ours"})
    return tmp_path


def change(folder, **settings):
    result = json.loads((folder / "result.json").read_text())
    result["experiment"]["model"] |= settings
    (folder / "result.json").write_text(json.dumps(result))


def test_a_sound_folder_is_loaded(folder):
    assert load(folder).model.num_parameters > 1000


@pytest.mark.parametrize("bad, word", [(float("nan"), "NaN"), (float("inf"), "infinite")])
def test_weights_that_are_no_numbers_are_refused(folder, bad, word):
    tensors, _ = read_tensors(folder / "best.safetensors")
    next(iter(tensors.values())).view(-1)[0] = bad
    write_tensors(folder / "best.safetensors", tensors)
    with pytest.raises(CheckpointError, match=rf"finite numbers, but .* holds one that is {word}"):
        load(folder)


@pytest.mark.parametrize(
    "settings, sentence",
    [
        ({"sigma_floor": 1e300}, r"model.sigma_floor must be a number from 1e-06 to 1e\+06"),
        ({"points_per_unit": 1e-300}, "model.points_per_unit must be a number from"),
        ({"blocks": 10_000_000}, "model.blocks must be a number from 1e-06 to 65536"),
        ({"blocks": 60_000}, "model.blocks must be at most .* the number of tensors"),
        ({"channels": 60_000}, "weights, as the model's description says, but the file holds"),
        ({"down": [16] * 300}, "model.down must have at most 256 parts, got 300"),
    ],
)
def test_settings_beyond_all_sense_are_refused_before_anything_is_built(folder, settings, sentence):
    change(folder, **settings)
    with pytest.raises(CheckpointError, match=sentence):
        load(folder)


def test_a_description_cannot_raise_the_limit_of_cells(folder):
    change(folder, max_cells=10**18)
    assert not hasattr(load(folder).model, "max_cells")


def test_a_giant_description_is_refused_unread(folder, monkeypatch):
    monkeypatch.setattr(soundness, "_LARGEST_DESCRIPTION", 10)
    with pytest.raises(CheckpointError, match=r"at most 10 bytes, but .*result.json has"):
        load(folder)


def test_brackets_without_end_are_a_sentence(folder):
    (folder / "result.json").write_text("[" * 100_000)
    with pytest.raises(CheckpointError, match="do not fit"):
        load(folder)


def test_what_is_not_a_model_of_this_package_is_refused(folder):
    write_tensors(folder / "best.safetensors", {"weight": torch.zeros(3)})
    with pytest.raises(CheckpointError, match="but the file holds 3"):
        load(folder)
