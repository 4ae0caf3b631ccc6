"""Rooms: a file imports the open files, its own room, and the rooms above it."""

import ast
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import convcnp

OPEN = {"errors", "extras", "storage"}
ROOMS = [
    *("core", "models", "frames", "data", "training", "predict", "plots", "paper"),
    *("scale", "app", "cli"),
]
ENDS = {"paper", "scale", "app", "cli"}  # only commands use these
DOORS = {"", "__main__"}  # the package's own

PACKAGE = Path(convcnp.__file__).parent


def module_sources() -> dict[str, str]:
    """Return the source of every module by its dotted name within the package."""
    return {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        .removesuffix("__init__")
        .removesuffix("."): path.read_text()
        for path in PACKAGE.rglob("*.py")
    }


def imports_of(source: str, *, at_run_time: bool = False) -> set[str]:
    """Return the modules that a source imports, also within functions; ours without `convcnp.`.

    A name taken from the front door, which leads to everything, counts as "convcnp".

    Args:
        at_run_time: Leave out what only type checkers see.
    """
    found = set()
    tree = ast.parse(source)
    unseen = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
        if at_run_time
    }
    for node in ast.walk(tree):
        if node in unseen:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = {name for name in names if is_module(name)}
            found |= modules if modules == names else {*modules, node.module}
    return {name.removeprefix("convcnp.") for name in found}


def is_module(name: str) -> bool:
    path = PACKAGE.parent / name.replace(".", "/")
    return name.startswith("convcnp.") and (path.is_dir() or path.with_suffix(".py").is_file())


def room_of(name: str) -> str:
    return name.split(".")[0]


def is_allowed(room: str, imported: str) -> bool:
    """Tell whether a file of this room may import a module; others' modules count as allowed."""
    other = room_of(imported)
    if other == "convcnp":
        return imported.endswith("__version__") or room == "cli"
    if other not in ROOMS:
        return other != "torch" or room != "frames"
    if room in OPEN or (room == "frames" and other != room):
        return False
    is_end = other in ENDS and room not in (other, "cli")
    return not is_end and ROOMS.index(other) <= ROOMS.index(room)


def wrong_imports(sources: dict[str, str]) -> list[str]:
    """Say of every import that is not allowed what is wrong with it."""
    complaints = []
    for name, source in sources.items():
        room = room_of(name)
        if name in DOORS:
            continue
        if room not in {*ROOMS, *OPEN}:
            complaints.append(f"{name} is in no room")
            continue
        for imported in imports_of(source):
            if not is_allowed(room, imported):
                complaints.append(f"{name} must not import {imported}")
    return complaints


def test_imports_point_to_the_rooms_above():
    assert wrong_imports(module_sources()) == []


def test_no_modules_import_each_other_in_a_circle():
    sources = module_sources()
    order = TopologicalSorter(
        {
            name: imports_of(source, at_run_time=True) & sources.keys() - {name}
            for name, source in sources.items()
            if name not in ("", "cli")  # whose files import their package by importing anything
        }
    )
    assert set(order.static_order()) >= {"core.task", "models.convcnp"}


@pytest.mark.parametrize(
    ("name", "source", "complaint"),
    [
        ("core.grid", "from convcnp.models.base import Model", "must not import models.base"),
        ("core.grid", "from convcnp.models import base", "must not import models.base"),
        ("core.task", "import convcnp.data.source", "must not import data.source"),
        ("core.cnn", "def late():\n    from convcnp import training", "must not import training"),
        ("errors", "from convcnp.core.task import Task", "must not import core.task"),
        ("models.cnp", "from convcnp import Task", "models.cnp must not import convcnp"),
        ("frames.series", "import torch", "must not import torch"),
        ("frames.series", "from torch import Tensor", "must not import torch"),
        ("frames.series", "from convcnp.core.task import Task", "must not import core.task"),
        ("training.run", "from convcnp.paper.scores import s", "must not import paper.scores"),
        ("app.page", "from convcnp.paper.tables import t", "app.page must not import paper.tables"),
        ("predict.zoo", "from convcnp.plots.maps import m", "must not import plots.maps"),
        ("plots.maps", "from convcnp.cli.console import say", "must not import cli.console"),
        ("utilities", "", "utilities is in no room"),
    ],
)
def test_a_wrong_import_is_found(name, source, complaint):
    (found,) = wrong_imports({name: source})
    assert complaint in found


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("models.attncnp", "from convcnp.models.cnp import CNP"),
        ("core.set_conv", "from convcnp.core.grid import Grid\nimport torch"),
        ("training.loop", "from convcnp.training import evaluation"),
        ("core.predictive", "from convcnp.errors import ShapeError"),
        ("frames.series", "import numpy\nfrom convcnp.frames.kinds import numbers"),
        ("data.table", "from convcnp.frames.series import Columns"),
        ("cli.paper", "from convcnp.paper.tables import build_table"),
        ("paper.tables", "from convcnp.paper.scores import constant"),
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


# --- Doors ----------------------------------------------------------------------------------------

# Pydantic is not among them: typer itself imports it to read options.
SLOW = ("torch", "numpy", "pandas", "matplotlib", "scipy", "convcnp.training")


def slow_imports(code: str) -> set[str]:
    """Run code in a process of its own, and return the slow modules it imported."""
    listing = f"import sys; print('\\n', *(m for m in {SLOW} if m in sys.modules))"
    # A command ends its process, so the list is printed when that happens.
    program = f"import atexit; atexit.register(lambda: exec({listing!r}, {{}}))\n{code}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def command(*arguments: str) -> str:
    return f"import sys; sys.argv[1:] = {arguments}; from convcnp.cli import main; main()"


@pytest.mark.parametrize(
    "code",
    [
        "import convcnp; dir(convcnp); convcnp.__version__; convcnp.ConvCNPError",
        command("--help"),
        command("--version"),
        command("predict", "--help"),
        command("models"),
        command("models", "--json"),
    ],
)
def test_what_needs_no_torch_imports_none(code):
    assert slow_imports(code) == set()


def test_a_slow_import_is_found():
    assert "torch" in slow_imports("import convcnp; convcnp.Task")


DOORED = [name for name, source in module_sources().items() if "imported_when_used(" in source]


@pytest.mark.parametrize("name", [name for name in DOORED if name != "extras"])
def test_every_name_of_a_door_is_there_and_type_checkers_see_the_same(name):
    door = __import__(f"convcnp.{name}".rstrip("."), fromlist=["_"])
    assert len(set(door.__all__)) == len(door.__all__)
    assert all(hasattr(door, offered) for offered in door.__all__)
    source = module_sources()[name]
    seen = re.findall(r"^    from convcnp\.([\w.]+) import (\w+) as \2$", source, re.MULTILINE)
    prefix = f"{name}." if name else ""
    assert {offered: module for module, offered in seen} == {
        offered: f"{prefix}{home}" for offered, home in door._NAMES.items()
    }


def test_every_room_has_a_door():
    rooms = {room_of(name) for name in module_sources()} & set(ROOMS)
    assert rooms - ENDS <= set(DOORED)


@pytest.mark.parametrize("name", convcnp.__all__)
def test_every_name_of_the_front_door_has_an_example_that_runs(name):
    assert ">>> " in (getattr(convcnp, name).__doc__ or "")


def test_the_front_door_is_small_and_leaves_the_packages_name_alone():
    assert len(convcnp.__all__) <= 20
    assert "convcnp" not in convcnp.__all__
