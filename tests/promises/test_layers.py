"""Imports point up the layout list only."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import convcnp

# A module may import what stands above it. A new module or folder of the package gets a line here.
LAYERS = [
    "errors",
    "storage",
    "task",
    "repeats",
    "image_task",
    "grid",
    "set_conv",
    "separable",
    "cnn",
    "predictive",
    "normaliser",
    "gp",
    "models",
    "cells",
    "times",
    "reading",
    "frames",
    "data",
    "user_units",
    "baselines",
    "evaluation",
    "training",
    "experiment",
    "scores",
    "reporting",
    "runner",
    "choices",
    "table_choices",
    "image_choices",
    "own",
    "many",
    "sampling",
    "containers",
    "asking",
    "plane",
    "predictor",
    "zoo",
    "comparison",
    "tables",
    "drawing",
    "pictures",
    "maps",
    "prediction",
    "checking",
    "completion",
    "figures",
    "cli",
]

PACKAGE = Path(convcnp.__file__).parent


def module_sources() -> dict[str, str]:
    """Return the source of every module but the package's front door, by dotted name."""
    paths = {p.relative_to(PACKAGE): p for p in PACKAGE.rglob("*.py")}
    return {
        ".".join(path.with_suffix("").parts).removesuffix(".__init__"): full.read_text()
        for path, full in paths.items()
        if path != Path("__init__.py")
    }


def imports_of(source: str) -> set[str]:
    """Return the modules of the package that a source imports, also within functions.

    A name taken from the package's front door, which imports everything, counts as "convcnp". To
    `import convcnp` alone takes nothing.
    """
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name != "convcnp"}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = {name for name in names if is_module(name)}
            found |= modules if modules == names else {*modules, node.module}
    return {name.removeprefix("convcnp.") for name in found if name.split(".")[0] == "convcnp"}


def is_module(name: str) -> bool:
    path = PACKAGE.parent / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def wrong_imports(sources: dict[str, str]) -> list[str]:
    """Say of every import that does not point up the list what is wrong with it."""
    complaints = []
    for name, source in sources.items():
        layer = name.split(".")[0]
        if layer not in LAYERS:
            complaints.append(f"{name} has no place in LAYERS")
            continue
        for imported in imports_of(source):
            above = imported.split(".")[0]
            # A room's files may import each other, and must not do so in a circle (below).
            if above != layer and (
                above not in LAYERS or LAYERS.index(above) > LAYERS.index(layer)
            ):
                complaints.append(f"{name} must not import {imported}")
    return complaints


def test_imports_point_up_the_list():
    assert wrong_imports(module_sources()) == []


def test_no_modules_import_each_other_in_a_circle():
    order = TopologicalSorter({name: imports_of(s) for name, s in module_sources().items()})
    assert set(order.static_order()) >= {"task", "models.convcnp"}


def test_the_names_of_the_layers_are_distinct():
    assert len(set(LAYERS)) == len(LAYERS)


@pytest.mark.parametrize(
    "name, source, complaint",
    [
        ("grid", "from convcnp.models.base import Model", "grid must not import models.base"),
        ("grid", "from convcnp.models import base", "grid must not import models.base"),
        ("task", "import convcnp.core.grid", "task must not import grid"),
        ("cnn", "def late():\n    from convcnp import training", "cnn must not import training"),
        (
            "data.gp",
            "from convcnp.training.evaluation import f",
            "data.gp must not import evaluation",
        ),
        ("models.cnp", "from convcnp import Task", "models.cnp must not import convcnp"),
        ("utilities", "", "utilities has no place in LAYERS"),
    ],
)
def test_a_wrong_import_is_found(name, source, complaint):
    assert complaint in wrong_imports({name: source})


@pytest.mark.parametrize(
    "name, source",
    [
        ("models.attncnp", "from convcnp.models.cnp import CNP"),
        ("set_conv", "from convcnp.core.grid import Grid\nimport torch"),
        ("training", "from convcnp import evaluation"),
        ("predictive", "from convcnp.errors import ShapeError"),
    ],
)
def test_a_right_import_is_not(name, source):
    assert wrong_imports({name: source}) == []


def test_a_circle_is_found():
    with pytest.raises(CycleError):
        tuple(TopologicalSorter({"a": {"b"}, "b": {"a"}}).static_order())


def test_nothing_is_called_helpers():
    names = {part for name in module_sources() for part in name.split(".")}
    assert not names & {"utils", "util", "helpers", "misc", "common"}


def test_the_front_door_is_small_and_has_no_logic():
    assert len(convcnp.__all__) <= 20
    assert len(set(convcnp.__all__)) == len(convcnp.__all__)
    assert all(hasattr(convcnp, name) for name in convcnp.__all__)
    body = ast.parse((PACKAGE / "__init__.py").read_text()).body
    assert all(isinstance(node, ast.Expr | ast.ImportFrom | ast.Assign) for node in body)
