"""Experiment files: every one loads, and every mistake is named."""

from itertools import pairwise
from pathlib import Path

import pytest
import torch

from convcnp.errors import ConvCNPError, ExperimentError
from convcnp.paper.figures.images import DEPTHS
from convcnp.paper.tables import LAYOUTS
from convcnp.training.catalogue import MODELS, SOURCES
from convcnp.training.experiment import Experiment
from helpers import held_out_tasks_of

ROOT = Path(__file__).parents[2]
FILES = sorted(p for p in (ROOT / "experiments").rglob("*.toml") if p.name not in LAYOUTS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_experiment_file_loads_and_builds_its_model(path):
    experiment = Experiment.load(path)
    model = experiment.build_model()
    source = experiment.source()
    assert (model.dim_x, model.dim_y) == (source.dim_x, source.dim_y)
    assert experiment.training.steps * experiment.training.batch_size <= 200 * 256 * 16


def test_table_1_has_a_file_for_each_of_its_cells():
    stems = {path.stem for path in FILES if path.parent.name == "table1"}
    expected = {
        f"{data}-{model}"
        for data in ("eq", "weakly-periodic", "matern", "sawtooth")
        for model in ("cnp", "attncnp", "convcnp", "convcnpxl")
    }
    assert expected | {"weakly-periodic-printed-convcnpxl"} <= stems


def test_the_experiments_on_series_have_the_papers_settings():
    light, *prey = (
        Experiment.load(ROOT / "experiments" / f"{name}.toml")
        for name in (
            "table2/plasticc-convcnpxl",
            "figure3/lotka-volterra-convcnp",
            "figure3/lotka-volterra-broad-convcnp",
        )
    )
    assert light.model["name"] == "convcnpxl"
    assert light.model["points_per_unit"] == 256
    for experiment in prey:
        assert experiment.model["name"] == "convcnp"
        assert experiment.model["points_per_unit"] == 100
        assert experiment.training.batch_size == 50
        source = experiment.source()
        assert (source.min_context, source.max_context, source.num_points) == (3, 80, 150)


def test_the_tables_of_images_have_a_file_for_each_of_their_cells():
    def stems(folder: str) -> set[str]:
        return {path.stem for path in FILES if path.parent.name == folder}

    data, models = ("mnist", "svhn", "celeba32", "celeba64", "zsmm"), ("convcnp", "convcnpxl")
    cells = {f"{d}-{m}" for d in data for m in (*models, "attncnp")}
    longer = {f"{d}-convcnp-long" for d in data}
    longer |= {f"{d}-attncnp-long" for d in ("mnist", "svhn", "celeba32", "zsmm")}
    longer |= {f"{d}-convcnpxl-long" for d in data}
    # Each goes on from the one before: the deepest come first.
    ahead = dict(pairwise(DEPTHS[:-1]))
    continued = {stem for stem in stems("table3") if stem.endswith(tuple(ahead))}
    assert stems("table3") - continued == cells | longer
    for path in FILES:
        if path.stem in continued:
            depth = next(depth for depth in ahead if path.stem.endswith(depth))
            assert Experiment.load(path).start == path.stem.removesuffix(depth) + ahead[depth]
    changes = ("convcnp", "no-density", "no-norm", "no-abs", "no-abs-norm", "eq")
    assert stems("table6") == {f"{d}-{c}" for d in ("mnist", "zsmm") for c in changes}


@pytest.mark.parametrize("column", ["mnist", "svhn", "celeba32", "celeba64", "zsmm"])
def test_the_models_of_a_column_of_images_are_trained_alike(column):
    paths = [path for path in FILES if path.parent.name == "table3"]
    rows = ("convcnp", "convcnpxl", "attncnp")
    cells = [Experiment.load(p) for p in paths if p.stem in {f"{column}-{r}" for r in rows}]
    assert len(cells) == 3
    assert len({(cell.training, cell.evaluation) for cell in cells}) == 1
    assert {cell.model["sigma_floor"] for cell in cells} == {0.1}


@pytest.mark.parametrize("column", ["mnist", "zsmm"])
@pytest.mark.parametrize(
    "change, filter, has_density, normalise",
    [
        ("convcnp", "absolute", True, True),
        ("no-density", "absolute", False, True),
        ("no-norm", "absolute", True, False),
        ("no-abs", "signed", True, True),
        ("no-abs-norm", "signed", True, False),
        ("eq", "eq", True, True),
    ],
)
def test_the_first_layers_of_table_6_are_what_their_names_say(
    column, change, filter, has_density, normalise
):
    experiment = Experiment.load(ROOT / f"experiments/table6/{column}-{change}.toml")
    encoder = experiment.build_model().encoder
    assert (encoder.first_filter, encoder.has_density, encoder.normalise) == (
        *(filter, has_density, normalise),
    )
    assert experiment.data["name"] == column
    whole = Experiment.load(ROOT / f"experiments/table6/{column}-convcnp.toml")
    assert experiment.training == whole.training


def test_the_names_of_receptive_fields_are_their_sizes():
    paths = [path for path in FILES if path.parent.name == "receptive-field"]
    assert paths
    for path in paths:
        padding, _, size = path.stem.rpartition("-")
        experiment = Experiment.load(path)
        assert experiment.model["padding"] == ("unobserved" if padding == "windows" else padding)
        assert ("window" in experiment.data) == (padding == "windows")
        assert 2 * experiment.build_model().radius_in_pixels + 1 == int(size)


def test_a_name_and_a_table_with_a_name_mean_the_same():
    by_name = Experiment.parse({"data": "eq", "model": "convcnp"})
    by_table = Experiment.parse({"data": {"name": "eq"}, "model": {"name": "convcnp"}})
    assert by_name == by_table
    assert by_name.model["points_per_unit"] == 64.0


def test_a_resolved_experiment_parses_to_itself():
    experiment = Experiment.parse({"data": "sawtooth", "model": "attncnp"})
    assert Experiment.parse(experiment.model_dump()) == experiment


def test_overrides_reach_tables_names_and_bare_words():
    path = ROOT / "experiments/table1/eq-convcnp.toml"
    changes = ["training.seed=3", "model.padding=zeros", "data=matern", "training.clip=0.5"]
    experiment = Experiment.load(path, changes)
    assert experiment.training.seed == 3
    assert experiment.model["padding"] == "zeros"
    assert experiment.data["name"] == "matern"
    assert experiment.training.clip == 0.5


def test_smoke_shrinks_a_run_and_overrides_still_count():
    path = ROOT / "experiments/table1/eq-convcnp.toml"
    assert Experiment.load(path, smoke=True).training.steps < 10
    assert Experiment.load(path, ["training.steps=7"], smoke=True).training.steps == 7


def test_the_seed_decides_the_initial_weights_and_leaves_the_global_generator_alone():
    experiment = Experiment.parse({"data": "eq", "model": "convcnp"})
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first, second = experiment.build_model(), experiment.build_model()
    assert torch.equal(first.head.weight, second.head.weight)
    assert torch.equal(torch.random.get_rng_state(), before)
    other = Experiment.parse({"data": "eq", "model": "convcnp", "training": {"seed": 1}})
    assert not torch.equal(other.build_model().head.weight, first.head.weight)


@pytest.mark.parametrize("name", [name for name in SOURCES if name != "table"])  # which needs one
def test_every_source_draws_for_evaluation_with_sizes_per_task(name):
    source = held_out_tasks_of(Experiment.parse({"data": name, "model": "cnp"}))
    task = source.draw(8, torch.Generator().manual_seed(0))
    assert len(set(task.context_mask.sum((1, 2)).tolist())) > 1


@pytest.mark.parametrize("name", [name for name in MODELS if MODELS[name].make_head is not None])
def test_every_model_takes_its_settings_from_its_constructor(name):
    resolved = Experiment.parse({"data": "eq", "model": {"name": name, "sigma_floor": 0.25}}).model
    assert resolved["sigma_floor"] == 0.25


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"data": "eq"}, r"'model' is missing"),
        ({"data": "eqq", "model": "cnp"}, r"data must be one of .*got 'eqq'; did you mean 'eq'\?"),
        ({"data": "eq", "model": 3}, r"model must be a name or a table with a name, got 3"),
        (
            {"data": "eq", "model": "cnp", "trainng": {}},
            r"Unknown key 'trainng'; did you mean 'training'\?",
        ),
        (
            {"data": "eq", "model": "cnp", "training": {"learning_rte": 1}},
            r"Unknown key 'training.learning_rte'; did you mean 'learning_rate'\?",
        ),
        (
            {"data": "eq", "model": {"name": "convcnp", "points_per_uni": 1}},
            r"Unknown key 'model.points_per_uni'; did you mean 'points_per_unit'\?",
        ),
        (
            {"data": "eq", "model": "cnp", "training": {"steps": "many"}},
            r"training.steps: .*integer.*got 'many'\.",
        ),
        (
            {"data": "eq", "model": "cnp", "training": {"learning_rate": -1}},
            r"training.learning_rate: .*greater than 0, got -1\.",
        ),
        (
            {"data": {"name": "eq", "sizes": "all"}, "model": "cnp"},
            r"data.sizes: .*'batch' or 'task', got 'all'\.",
        ),
    ],
)
def test_a_wrong_key_type_or_value_is_named(content, message):
    with pytest.raises(ExperimentError, match=message):
        Experiment.parse(content)


def test_a_wrong_setting_of_a_model_is_refused_when_it_is_built():
    experiment = Experiment.parse(
        {"data": "eq", "model": {"name": "convcnp", "points_per_unit": 0}}
    )
    with pytest.raises(ConvCNPError, match="points_per_unit must be a positive number"):
        experiment.build_model()


def test_a_missing_file_suggests_the_nearest():
    with pytest.raises(ExperimentError, match=r"does not exist; did you mean .*eq-convcnpxl\.toml"):
        Experiment.load(ROOT / "experiments/table1/eq-convcnpx.toml")


def test_a_file_that_is_not_toml_is_refused(tmp_path):
    (tmp_path / "bad.toml").write_text("data = = 3")
    with pytest.raises(ExperimentError, match=r"must be a readable TOML file"):
        Experiment.load(tmp_path / "bad.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ExperimentError, match=r"must be a readable TOML file"):
        Experiment.load(tmp_path / "binary.toml")


@pytest.mark.parametrize("override", ["training.seed", "=3", "data.name.deep=1"])
def test_a_malformed_override_is_refused(override):
    with pytest.raises(ExperimentError):
        Experiment.load(ROOT / "experiments/table1/eq-convcnp.toml", [override])
