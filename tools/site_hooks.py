"""What the documentation site needs beyond its theme: formulas, and a list of all decisions.

Formulas become MathML, which browsers draw without scripts, fonts or a network. Docstrings write
them as reStructuredText does, pages between dollar signs. mkdocs calls the functions, mkdocstrings
the class.
"""

import re
from html import unescape
from pathlib import Path
from textwrap import dedent
from typing import Any

from griffe import Extension, Object
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List every decision in the navigation."""
    assert config.nav is not None
    understanding = next(part["Understanding"] for part in config.nav if "Understanding" in part)
    pages = sorted(Path(config.docs_dir).glob("decisions/[0-9]*.md"))
    understanding[-1]["Decisions"] += [f"decisions/{page.name}" for page in pages]
    return config


def on_page_content(html: str, **_: Any) -> str:
    """Draw the formulas of a page."""
    return as_mathml(html)


class Docstrings(Extension):
    """Write docstrings as pages are written."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite the docstring of an object once it is loaded."""
        if obj.docstring is not None:
            text = in_dollars(dedent(obj.docstring.value))
            # The plural alone makes it a block of code.
            obj.docstring.value = re.sub("^Example:$", "Examples:", text, flags=re.MULTILINE)


def in_dollars(text: str) -> str:
    """Replace the formulas of a docstring by formulas between dollar signs."""

    def block(match: re.Match[str]) -> str:
        indent, formula = match["indent"], " ".join(match["formula"].split())
        return f"{indent}$$\n{indent}{formula}\n{indent}$$\n"

    text = re.sub(
        r"^(?P<indent> *)\.\. math::(?P<formula>.*\n(?:(?P=indent) +\S.*\n)*)",
        block,
        f"{text}\n",
        flags=re.MULTILINE,
    )
    return re.sub(r":math:`([^`]*)`", lambda m: f"${' '.join(m[1].split())}$", text).rstrip("\n")


def as_mathml(html: str) -> str:
    """Replace the formulas that the Markdown extension arithmatex marked."""

    def drawn(match: re.Match[str]) -> str:
        formula = unescape(match["formula"]).strip()[2:-2]  # without \( \) or \[ \]
        return convert(formula, display="block" if match["tag"] == "div" else "inline")

    pattern = r'<(?P<tag>span|div) class="arithmatex">(?P<formula>.*?)</(?P=tag)>'
    return re.sub(pattern, drawn, html, flags=re.DOTALL)
