"""Write requirements.lock: the versions of this environment, with the hashes of their files.

    python tools/lock.py

Hashes are those of the file that pip would install here, and of all others of the version on the
package index, so that the lock holds on other systems. Nothing is downloaded but lists.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from convcnp.storage import write_atomically

INDEX = "https://pypi.org/simple"
LOCK = Path("requirements.lock")
HEADER = (
    "# Exact versions of all that the project runs and is tested with, and the hashes of their\n"
    "# files; written by make lock.\n"
)


def pip(*arguments: str) -> str:
    """Run pip in this environment, and return what it prints."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def pinned() -> list[str]:
    """Return the versions that are installed, as requirements."""
    lines = pip("freeze", "--exclude-editable").splitlines()
    return sorted((line.removesuffix("+cpu") for line in lines if "==" in line), key=str.lower)


def report_of(requirements: list[str]) -> dict[str, Any]:
    """Ask pip which files it would install."""
    with tempfile.TemporaryDirectory() as folder:
        listing, report = Path(folder) / "listing.txt", Path(folder) / "report.json"
        listing.write_text("\n".join(requirements) + "\n")
        given = ("--dry-run", "--no-deps", "--ignore-installed", "--quiet")
        pip("install", *given, "--report", str(report), "-r", str(listing))
        found: dict[str, Any] = json.loads(report.read_text())
        return found


def hashes_here(report: Mapping[str, Any]) -> dict[str, set[str]]:
    """Return the hash of each file that would be installed, by the package's name."""
    return {
        canonical(one["metadata"]["name"]): {
            one["download_info"]["archive_info"]["hashes"]["sha256"]
        }
        for one in report["install"]
    }


def hashes_on_index(requirement: str) -> set[str]:
    """Return the hashes of all files of a version on the package index."""
    name, _, version = requirement.partition("==")
    with urllib.request.urlopen(f"{INDEX}/{canonical(name)}/", timeout=60) as answer:
        return hashes_in(answer.read().decode(), version)


def hashes_in(page: str, version: str) -> set[str]:
    """Return the hashes of the files of a version that a page of the index lists."""
    files = re.findall(r'#sha256=([0-9a-f]{64})"[^>]*>\s*([^<\s]+)\s*</a>', page)
    is_of_version = re.compile(rf"-{re.escape(version)}(?:-|\.tar\.gz$|\.zip$)")
    return {digest for digest, name in files if is_of_version.search(name)}


def canonical(name: str) -> str:
    """Return a package's name as indexes spell it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(requirement: str, hashes: set[str]) -> str:
    """Return the lines of a requirement."""
    lines = [requirement, *(f"    --hash=sha256:{one}" for one in sorted(hashes))]
    return " \\\n".join(lines) + "\n"


def main() -> None:
    """Write the lock file, whole or not at all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", type=Path, help="a report of pip's, in place of a new one")
    options = parser.parse_args()
    requirements = pinned()
    report = json.loads(options.report.read_text()) if options.report else report_of(requirements)
    here, parts = hashes_here(report), [HEADER]
    for requirement in requirements:
        name = canonical(requirement.partition("==")[0])
        parts.append(locked(requirement, here[name] | hashes_on_index(requirement)))
    write_atomically(LOCK, "".join(parts).encode())
    print(f"Wrote {len(requirements)} versions to {LOCK}.")


if __name__ == "__main__":
    main()
