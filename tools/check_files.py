"""Check the files of a commit: whitespace, TOML and YAML syntax, and size."""

import sys
import tomllib
from pathlib import Path

import yaml

LARGEST = 2_000_000
LARGEST_WEIGHTS = 3_000_000  # of a shipped model: the package stays small as a whole
TEXT = {".py", ".md", ".toml", ".yaml", ".yml", ".json", ".csv", ".lock", ""}


def complaint(path: Path) -> str | None:
    """Return what is wrong with a file, if anything."""
    largest = LARGEST_WEIGHTS if path.suffix == ".safetensors" else LARGEST
    if path.stat().st_size > largest:
        return f"larger than {largest:,} bytes"
    if path.suffix not in TEXT:
        return None
    text = path.read_text()
    if any(line != line.rstrip() for line in text.splitlines()):
        return "has trailing whitespace"
    if text and not text.endswith("\n"):
        return "does not end with a newline"
    try:
        if path.suffix == ".toml":
            tomllib.loads(text)
        elif path.suffix in {".yaml", ".yml"}:
            yaml.safe_load(text)
    except (tomllib.TOMLDecodeError, yaml.YAMLError) as error:
        return f"cannot be parsed: {error}"
    return None


def main() -> int:
    """Check the files named as arguments."""
    wrong = {name: problem for name in sys.argv[1:] if (problem := complaint(Path(name)))}
    for name, problem in wrong.items():
        sys.stderr.write(f"{name} {problem}.\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
