"""Draw the pictures of the guides by doing what they say; name guides to draw theirs only.

A guide's blocks of Python, and its shell blocks marked `sh`, are run in their order in an empty
folder. Every picture that the page shows from docs/images must then be there under its name.
"""

import contextlib
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
from PIL import Image

from convcnp.cli import app

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs/images"
LARGEST = 150_000  # bytes of a picture
IN_BROWSER = {"app"}  # whose pictures are taken by `PICTURES=docs/images make test-browser`
GUIDES = {
    path.stem: path
    for path in sorted((ROOT / "docs/guides").glob("*.md"))
    if path.stem not in IN_BROWSER
}


def blocks(text: str, *languages: str) -> list[tuple[str, str]]:
    """Return the fenced blocks in these languages, each with its language."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [(language, block) for language, block in found if language in languages]


def commands(block: str) -> Iterator[list[str]]:
    """Yield the arguments of every `convcnp` command of a shell block."""
    for line in block.replace("\\\n", " ").splitlines():
        program, *arguments = shlex.split(line, comments=True) or [""]
        if program == "convcnp":
            yield arguments


def pictures(text: str) -> list[str]:
    """Return the names of the pictures that a page shows."""
    return re.findall(r"!\[[^\]]*\]\((?:\.\./)?images/([\w.-]+)\)", text)


def follow(page: Path, folder: Path) -> None:
    """Run a guide's blocks in a folder."""
    (folder / "examples").symlink_to(ROOT / "examples")
    namespace = {"__name__": "guide"}
    with contextlib.chdir(folder):
        for language, block in blocks(page.read_text(), "python", "sh"):
            if language == "python":
                exec(compile(block, page.name, "exec"), namespace)
                continue
            for arguments in commands(block):
                app(arguments, standalone_mode=False)


def keep(made: Path, path: Path) -> None:
    """Copy a picture, with fewer colours if it is large."""
    if made.stat().st_size < LARGEST:
        shutil.copy(made, path)
    else:
        Image.open(made).convert("RGB").quantize(64).save(path, optimize=True)


def main() -> None:
    """Follow the guides, and keep the pictures they show."""
    torch.set_num_threads(1)
    os.environ["COLUMNS"] = "100"
    for name in sys.argv[1:] or GUIDES:
        with tempfile.TemporaryDirectory() as folder:
            follow(GUIDES[name], Path(folder))
            for picture in pictures(GUIDES[name].read_text()):
                made = next(path for path in Path(folder).rglob(picture) if path.is_file())
                keep(made, IMAGES / picture)
                sys.stdout.write(f"{name}: wrote {picture}\n")


if __name__ == "__main__":
    main()
