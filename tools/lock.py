"""Write requirements.lock: exact versions, and the hashes of the files that may be installed.

python -m pip freeze --exclude-editable | python tools/lock.py

Hashes are those that the package index gives for the files of a version, for Linux and macOS with
this Python, and for its source. torch is left to requirements-torch.lock: one version has several
builds, of which a machine may have any.
"""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from convcnp.storage import write_together

ROOT = Path(__file__).parents[1]
LOCK, TORCH_LOCK = ROOT / "requirements.lock", ROOT / "requirements-torch.lock"
HEADER = "# Exact versions of all that the project runs and is tested with; written by make lock.\n"
TORCH_HEADER = "# One version, several builds, so no hashes; written by make lock.\n"
PYTHON = f"cp{sys.version_info.major}{sys.version_info.minor}"
FITTING = re.compile(rf"\.tar\.gz$|-({PYTHON}|cp\d+-abi3|(py2\.)?py3)-.*(any|linux|macosx).*\.whl$")


def index() -> str:
    """Return the address of the package index that pip asks."""
    told = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"],
        capture_output=True,
        text=True,
    ).stdout.strip()
    listed = [sys.executable, "-m", "pip", "install", "--help"]
    text = subprocess.run(listed, check=True, capture_output=True, text=True).stdout
    (default,) = re.findall(r"default\s+(https://\S+/simple)", text)
    return told or default


def pins(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the names and versions of requirements such as `numpy==2.1.0`."""
    for line in lines:
        if found := re.match(r"([\w.-]+)==([^\s;+\\]+)", line):
            yield found[1], found[2]


def hashes_in(page: str, version: str) -> list[str]:
    """Return the hashes of the files of a version that fit, of all that a page lists."""
    is_of_version = re.compile(rf"-{re.escape(version)}(-|\.tar\.gz$)")
    files = re.findall(r'#sha256=([0-9a-f]{64})"[^>]*>\s*([^<\s]+)\s*</a>', page)
    return sorted(
        digest for digest, name in files if is_of_version.search(name) and FITTING.search(name)
    )


def listed(address: str, name: str) -> str:
    """Ask an index for its page of a package."""
    canonical = re.sub(r"[-_.]+", "-", name).lower()
    with urllib.request.urlopen(f"{address.rstrip('/')}/{canonical}/", timeout=60) as answer:
        page: bytes = answer.read()
    return page.decode()


def locked(name: str, version: str, hashes: Iterable[str]) -> str:
    """Return the lines of one requirement."""
    lines = [f"{name}=={version}", *(f"    --hash=sha256:{one}" for one in hashes)]
    if len(lines) == 1:
        raise SystemExit(f"The index has no file of {name} {version} that fits.")
    return " \\\n".join(lines) + "\n"


def main() -> None:
    """Read requirements from standard input, and write both files, or neither."""
    address = index()
    wanted = sorted(pins(sys.stdin), key=lambda pin: pin[0].lower())
    hashed = [pin for pin in wanted if pin[0] != "torch"]
    with ThreadPoolExecutor(8) as pool:
        pages = pool.map(lambda pin: listed(address, pin[0]), hashed)
        lines = [
            locked(name, version, hashes_in(page, version))
            for (name, version), page in zip(hashed, pages, strict=True)
        ]
    torch = "".join(f"{name}=={version}\n" for name, version in wanted if name == "torch")
    write_together(
        {LOCK: (HEADER + "".join(lines)).encode(), TORCH_LOCK: (TORCH_HEADER + torch).encode()}
    )
    print(f"Wrote {len(wanted)} versions to {LOCK.name} and {TORCH_LOCK.name}.")


if __name__ == "__main__":
    main()
