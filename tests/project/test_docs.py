"""The documentation: its code runs, its commands exist, and nothing is left out."""

import re
from pathlib import Path

import pytest
import typer
from tools.draw_guides import GUIDES, IMAGES, LARGEST, blocks, commands, pictures
from tools.site_hooks import as_mathml, in_dollars
from tools.update_tables import excerpt

import convcnp
from convcnp.cli import app
from convcnp.paper.figures.paper import FIGURES
from convcnp.paper.photograph_tables import PHOTOGRAPHS
from convcnp.paper.plane_tables import PLANE
from convcnp.paper.tables import REAL_SERIES, layouts

ROOT = Path(__file__).parents[2]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text()
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
}
COMMANDS = typer.main.get_command(app).commands


def own_code(text):
    """Return the blocks of Python of a page, without excerpts of the package."""
    text = re.sub(r"<!-- source .*?<!-- /source -->", "", text, flags=re.DOTALL)
    return [block for _, block in blocks(text, "python")]


def shell_commands(text):
    return [found for _, block in blocks(text, "sh", "") for found in commands(block)]


@pytest.mark.parametrize("page", [page for page, text in PAGES.items() if own_code(text)])
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "documentation"}
    for block in own_code(PAGES[page]):
        exec(compile(block, page, "exec"), namespace)


def test_every_guide_has_code_and_the_readme_too():
    pages = {"README.md", "docs/index.md", *(f"docs/guides/{name}.md" for name in GUIDES)}
    assert pages <= {page for page, text in PAGES.items() if own_code(text)}


def check_command(arguments):
    """Parse the arguments of a command without running it."""
    name, *rest = arguments
    COMMANDS[name].make_context(name, rest)


@pytest.mark.parametrize("page", [page for page, text in PAGES.items() if shell_commands(text)])
def test_the_commands_of_a_page_are_valid(page):
    for arguments in shell_commands(PAGES[page]):
        check_command(arguments)


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_in_the_text_of_a_page_exist(page):
    for command in re.findall(r"`convcnp ([^`]+)`", PAGES[page]):
        name, *words = command.split()
        if name.startswith("-"):
            continue
        known = {option for parameter in COMMANDS[name].params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known | {"--help"}


@pytest.mark.parametrize("arguments", [["predictt"], ["predict", "a.csv", "--wehre", "1"]])
def test_a_wrong_command_is_found(arguments):
    with pytest.raises(Exception, match=r"predictt|wehre"):
        check_command(arguments)


def shown(command):
    page = PAGES["docs/tables-and-figures.md"]
    return set(re.findall(rf"^\| `convcnp {command} ([\w-]+)` \|", page, re.MULTILINE))


def test_every_table_has_its_command():
    compared = {*REAL_SERIES, *PHOTOGRAPHS, *PLANE}
    assert shown("table") == {*layouts(ROOT / "experiments"), *compared}


def test_every_figure_has_its_command():
    assert shown("figure") == set(FIGURES)


def test_every_picture_is_shown_and_those_of_guides_are_small():
    in_guides = {name for path in GUIDES.values() for name in pictures(path.read_text())}
    everywhere = {name for page, text in PAGES.items() for name in pictures(text)}
    assert everywhere == {path.name for path in IMAGES.iterdir()}
    assert all((IMAGES / name).stat().st_size < LARGEST for name in in_guides)
    assert all(pictures(path.read_text()) for path in GUIDES.values())


def test_every_public_name_has_a_place_in_the_reference():
    documented = re.findall(r"^::: ([\w.]+)$", "\n".join(PAGES.values()), re.MULTILINE)
    for name in convcnp.__all__:
        places = {f"convcnp.{name}", getattr(convcnp, name).__module__}
        places.add(f"{getattr(convcnp, name).__module__}.{name}")
        assert places & set(documented), name


def test_formulas_of_docstrings_become_those_of_pages():
    text = (
        "A :math:`\\psi(d)`, of\n:math:`a\n+ b`.\n\n    .. math:: x = 1,\n              y\n\nEnd."
    )
    pages = "A $\\psi(d)$, of\n$a + b$.\n\n    $$\n    x = 1, y\n    $$\n\nEnd."
    assert in_dollars(text) == pages
    assert in_dollars("No formula.") == "No formula."


def test_formulas_are_drawn_without_scripts():
    inline = as_mathml('<p>so <span class="arithmatex">\\(a &lt; b\\)</span>.</p>')
    assert inline.startswith('<p>so <math xmlns="http://www.w3.org/1998/Math/MathML"')
    assert "<mi>a</mi><mo>&lt;</mo><mi>b</mi>" in inline.replace("&#x0003C;", "&lt;")
    block = as_mathml('<div class="arithmatex">\n\\[x^2\\]\n</div>')
    assert 'display="block"' in block
    assert "<msup>" in block


def test_every_formula_of_the_package_can_be_drawn():
    for path in Path(convcnp.__file__).parent.rglob("*.py"):
        text = in_dollars(path.read_text())
        for formula in re.findall(r"\$\$\n(.*?)\n *\$\$", text) + re.findall(
            r"\$([^$\n]+)\$", text
        ):
            drawn = as_mathml(f'<span class="arithmatex">\\({formula}\\)</span>')
            assert "\\" not in drawn, formula


def test_an_excerpt_is_the_code_itself():
    assert excerpt("convcnp.core.grid.Grid.cells").startswith("```python\ndef cells(self, x:")
