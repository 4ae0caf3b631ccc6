"""What experiment files name, and classes of a user's own."""

import subprocess
import sys

import pytest

from convcnp.errors import ExperimentError
from convcnp.training.catalogue import MODELS, SOURCES, Catalogue, find_model, find_source
from convcnp.training.experiment import Experiment
from helpers import ROOT, call

OWN = """
from dataclasses import dataclass

import torch

from convcnp import CNP, FunctionSource


@dataclass(frozen=True)
class Lines(FunctionSource):
    options = (*FunctionSource.options, "steepest")
    steepest: float = 2.0

    def values(self, x, generator):
        slope = torch.rand(len(x), 1, 1, generator=generator).double()
        return self.steepest * (2 * slope - 1) * x


class SmallCNP(CNP):
    def __init__(self, dim_x=1, dim_y=1, *, head, width: int = 8):
        super().__init__(dim_x, dim_y, head=head, width=width)


class Needy(Lines):
    def __init__(self, must):
        pass


number = 3
"""

EXPERIMENT = """
data = { name = "my_lines:Lines", steepest = 1.5 }
model = { name = "my_lines:SmallCNP", width = 4 }
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the working directory, with a module of the user's in it."""
    (tmp_path / "my_lines.py").write_text(OWN)
    (tmp_path / "lines.toml").write_text(EXPERIMENT)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("my_lines", None)


def test_an_entry_is_made_when_it_is_asked_for_and_once():
    made = []
    catalogue = Catalogue(
        {"a": lambda: made.append("a") or object(), "b": lambda: made.append("b")}
    )
    assert (list(catalogue), len(catalogue), "a" in catalogue, "c" in catalogue) == (
        *(["a", "b"], 2, True, False),
    )
    assert made == []
    assert catalogue["a"] is catalogue["a"]
    assert made == ["a"]


def test_a_prediction_imports_no_other_data_set():
    code = """
import sys, convcnp
convcnp.load("eq-convcnp")
print(*[name for name in sys.modules if name.startswith("convcnp.data.")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    assert "convcnp.data.functions" in imported
    assert not imported & {"convcnp.data.lotka_volterra", "convcnp.data.images.mnist"}


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_is_found_by_its_name(name):
    assert find_source(name) is SOURCES[name]


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_found_by_its_name(name):
    assert find_model(name) is MODELS[name]


def test_a_file_names_classes_of_the_user_s_own(folder):
    experiment = Experiment.load(folder / "lines.toml")
    assert experiment.data["steepest"] == 1.5
    assert experiment.source().steepest == 1.5
    assert type(experiment.source()).__name__ == "Lines"
    model = experiment.build_model()
    assert type(model).__name__ == "SmallCNP"
    assert model.encoder[0].out_features == 4
    assert str(folder) not in sys.path


def test_the_command_finds_classes_in_the_working_directory(folder):
    done = call("run", "lines.toml", "--smoke", "--out", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert call("evaluate", "run", "--tasks", 2, cwd=folder).returncode == 0


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (
            "nowhere:Lines",
            r"imported, got 'nowhere:Lines' \(No module.*where nowhere\.py is",
        ),
        ("my_lines:Line", r"a class of my_lines, got 'Line'; did you mean 'Lines'\?"),
        (
            "my_lines:Needy",
            r"that needs no arguments, but 'my_lines:Needy' raises TypeError",
        ),
        ("convcnp:CNP", "must name a source of tasks, such as a subclass of FunctionSource"),
        ("my_lines:number", "must name a source of tasks"),
        (
            {"name": "my_lines:Lines", "steep": 1},
            "'data.steep'; did you mean 'steepest'",
        ),
    ],
)
def test_a_mistake_in_a_class_of_one_s_own_gets_a_sentence(folder, data, sentence):
    with pytest.raises(ExperimentError, match=sentence):
        Experiment.parse({"data": data, "model": "cnp"})


def test_a_model_of_one_s_own_is_something_that_builds(folder):
    with pytest.raises(ExperimentError, match="model must name a class or function that builds"):
        Experiment.parse({"data": "eq", "model": "my_lines:number"})


def test_the_experiments_name_only_what_ships():
    for path in (ROOT / "experiments").glob("*/*-*.toml"):
        experiment = Experiment.load(path)
        assert experiment.data["name"] in SOURCES
        assert experiment.model["name"] in MODELS
