"""Messages speak the caller's words: a parameter is `time=`, and only commands add dashes."""

import ast
import re

import pytest
from tests.helpers import ROOT

PACKAGE = ROOT / "src" / "convcnp"
OPTION = re.compile(r"(?<![\w`-])--[a-z]")
A_COMMAND = re.compile(r"`convcnp [^`]*`?")  # what a user would type stays what it is
OF_GIT = {"training/provenance.py"}


def messages_with_dashes(code: str) -> list[str]:
    """Return the texts of a module that name an option as the command line spells it."""
    tree = ast.parse(code)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {
        ast.get_docstring(n, clean=False) for n in ast.walk(tree) if isinstance(n, documented)
    }
    texts = [
        n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)
    ]
    return [t for t in texts if t not in docstrings and OPTION.search(A_COMMAND.sub("", t))]


@pytest.mark.parametrize(
    "path",
    [p for p in sorted(PACKAGE.rglob("*.py")) if "cli" not in p.parts],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_no_message_outside_the_commands_has_dashes(path):
    if str(path.relative_to(PACKAGE)) not in OF_GIT:
        assert messages_with_dashes(path.read_text()) == []


def test_a_message_with_dashes_is_found():
    assert messages_with_dashes('raise E(f"name one of {x} with --time.")') == [" with --time."]
    assert messages_with_dashes('raise E("run `convcnp train --data x` first")') == []
