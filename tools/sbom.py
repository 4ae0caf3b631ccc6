"""Say what the project is made of: a software bill of materials (CycloneDX JSON), and licences.

python tools/sbom.py --out out/sbom.json --licences out/licences.csv
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import re
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions, requires
from pathlib import Path
from typing import Any

from convcnp.storage import write_together

NAME = "convcnp"


def canonical(name: str) -> str:
    """Return a package's name as indexes spell it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed() -> dict[str, Distribution]:
    """Return what is installed in this environment, by name."""
    found = {canonical(one.metadata["Name"]): one for one in distributions()}
    return dict(sorted(found.items()))


def licence_of(one: Distribution) -> str:
    """Return what a package says its licence is: an expression, a classifier, or a short text."""
    metadata = one.metadata
    if expression := metadata.get("License-Expression"):
        return str(expression)
    classified = [
        text.split(" :: ")[-1]
        for text in metadata.get_all("Classifier", [])
        if text.startswith("License :: ") and not text.endswith("OSI Approved")
    ]
    text = str(metadata.get("License") or "").strip().splitlines()
    return " AND ".join(classified) or (text[0][:80] if text else "unknown")


def component(name: str, one: Distribution) -> dict[str, Any]:
    """Describe a package as CycloneDX does."""
    reference = f"pkg:pypi/{name}@{one.version}"
    return {
        "type": "library",
        "bom-ref": reference,
        "name": name,
        "version": one.version,
        "purl": reference,
        "licenses": [{"license": {"name": licence_of(one)}}],
    }


def dependencies(name: str, found: dict[str, Distribution]) -> list[str]:
    """Return what of the installed packages one requires, without its extras."""
    needed = set()
    for line in requires(found[name].metadata["Name"]) or []:
        wanted = re.match(r"[A-Za-z0-9._-]+", line)
        if wanted and "extra ==" not in line:
            needed.add(canonical(wanted[0]))
    return sorted(needed & found.keys())


def bill() -> dict[str, Any]:
    """Return the bill of materials of this environment; the same environment has the same."""
    found = installed()
    references = {name: f"pkg:pypi/{name}@{one.version}" for name, one in found.items()}
    digest = hashlib.sha256("\n".join(references.values()).encode()).hexdigest()
    serial = f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"component": component(NAME, found[NAME]) | {"type": "application"}},
        "components": [component(name, one) for name, one in found.items() if name != NAME],
        "dependencies": [
            {
                "ref": references[name],
                "dependsOn": [references[n] for n in dependencies(name, found)],
            }
            for name in found
        ],
    }


def licences() -> Iterator[tuple[str, str, str]]:
    """Yield name, version and licence of every package."""
    for name, one in installed().items():
        yield name, one.version, licence_of(one)


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/sbom.json"))
    parser.add_argument("--licences", type=Path, default=Path("out/licences.csv"))
    options = parser.parse_args()
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows([("name", "version", "licence"), *licences()])
    content = json.dumps(bill(), indent=2) + "\n"
    write_together({options.out: content.encode(), options.licences: table.getvalue().encode()})
    print(f"Wrote {options.out} and {options.licences}.")


if __name__ == "__main__":
    main()
