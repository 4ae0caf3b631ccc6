"""Write the generated tables into README and docs; with --check, fail if they are stale."""

import json
import re
import sys
from pathlib import Path

from convcnp.tables import Table, build_table

ROOT = Path(__file__).parent.parent
FILES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def updated(text: str) -> str:
    """Replace what stands between the marks of each table by the table."""

    def fresh(match: re.Match[str]) -> str:
        name = match["name"]
        if name == "margins":
            table = margins_table()
        else:
            table = build_table(name, ROOT / "experiments", ROOT / "results").markdown()
        return f"<!-- {name} -->\n{table}<!-- /{name} -->"

    return re.sub(
        r"<!-- (?P<name>[\w-]+) -->\n.*?<!-- /(?P=name) -->", fresh, text, flags=re.DOTALL
    )


def margins_table() -> str:
    """Return the training times by padding and margin that `make bench` measured."""
    findings = json.loads((ROOT / "results/bench.json").read_text())["findings"]
    rows = [
        [
            *finding["name"].split(", ")[2:],
            f"{finding['parts']['cells']}",
            f"{finding['value']:.2f}",
        ]
        for finding in findings
        if "margin" in finding["name"]
    ]
    header = ["Padding", "Trained on", "Cells", "Time of a step, relative to the least"]
    return Table("", header, rows).markdown()


def main() -> int:
    """Update every file, or say which ones are stale."""
    stale = [path for path in FILES if updated(path.read_text()) != path.read_text()]
    for path in stale:
        if "--check" in sys.argv:
            sys.stderr.write(f"{path.relative_to(ROOT)} is stale; run `make tables`.\n")
        else:
            path.write_text(updated(path.read_text()))
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
