"""Every module has its test, and nothing grows too large to read."""

import ast
from pathlib import Path

import pytest

import convcnp

PACKAGE = Path(convcnp.__file__).parent
TESTS = Path(__file__).parents[1]

LINES, FUNCTION_LINES, ARGUMENTS = 350, 50, 8

# Declarations alone: other files' tests would fail without them.
UNTESTED = {"cli/options.py"}

MODULES = sorted(
    str(path.relative_to(PACKAGE))
    for path in PACKAGE.rglob("*.py")
    if path.stem not in ("__init__", "__main__")
)


@pytest.mark.parametrize("module", [module for module in MODULES if module not in UNTESTED])
def test_every_module_has_its_test(module):
    path = Path(module)
    assert (TESTS / path.parent / f"test_{path.name}").exists()


def test_exceptions_are_modules():
    assert set(MODULES) >= UNTESTED


def test_every_test_has_its_module():
    for path in TESTS.rglob("test_*.py"):
        folder = path.parent.relative_to(TESTS)
        if folder.parts[:1] in (("promises",), ("project",)) or path.name == "test_cli.py":
            continue
        assert str(folder / path.name.removeprefix("test_")) in MODULES, path


def too_long(source: str, *, is_command: bool = False) -> list[str]:
    """Say what of a file is longer, or takes more arguments, than a reader can follow."""
    complaints = []
    if (lines := len(source.splitlines())) > LINES:
        complaints.append(f"has {lines} lines")
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef):
            continue
        body = [inner for inner in node.body if not isinstance(inner, ast.Expr)] or node.body
        lines = (node.end_lineno or 0) - body[0].lineno + 1
        if lines > FUNCTION_LINES:
            complaints.append(f"{node.name} has {lines} lines")
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        arguments = [argument for argument in given if argument.arg not in ("self", "cls")]
        if len(arguments) > ARGUMENTS and not is_command:
            complaints.append(f"{node.name} takes {len(arguments)} arguments")
    return complaints


@pytest.mark.parametrize("module", MODULES)
def test_nothing_is_too_long(module):
    assert too_long((PACKAGE / module).read_text(), is_command=module.startswith("cli/")) == []


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        (351 * "x = 1\n", "has 351 lines"),
        ("def f():\n" + 51 * "    x = 1\n", "f has 51 lines"),
        ("def f(a, b, c, d, e, *, g, h, i, j): ...", "f takes 9 arguments"),
    ],
)
def test_what_is_too_long_is_found(source, complaint):
    assert too_long(source) == [complaint]


def test_a_method_s_own_object_is_no_argument_and_its_docstring_no_line():
    words = "    '''" + 60 * "\n" + "'''\n"
    assert too_long(f"def f(self, a, b, c, d, e, g, h, i):\n{words}    return a\n") == []
