"""Try hostile and unlucky inputs on the commands: every end is an answer, or a sentence and code 2.

    python tools/fuzz.py --cases 1000 --seed 0

Tables, options, model folders and pictures are made from good ones by seeded mutations. A case
fails where a command ends in a traceback, without a sentence, with numbers that are infinite, or
leaves files behind that it did not announce. Its number makes it again: --first 123 --cases 1.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import resource
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

MEMORY = 6 * 2**30  # bytes that a case may ask for

SERIES = "date,temp\n2020-01-01,1.5\n2020-01-02,2\n2020-01-03,\n2020-01-04,3\n2020-01-06,2.5\n"
LONG = "id,t,v\na,0,1\na,1,2\na,2,\nb,0,10\nb,1,\nb,3,30\n"
CELLS = [
    *("", " ", "nan", "inf", "-inf", "1e400", "1e29", "-1e30", "0x10", "1,5", "1;5", '"', "'"),
    *("$x^$", ":smile:", "[bold]", "\\", "\u202e", "\u0000", "\ufeff", "é", "数", "🙂", "True"),
    *("NaT", "2020-13-45", "9999-12-31", "0001-01-01", "12:30", "24:61", "1 days", "20200213"),
    *(str(2**53 + 1), str(2**63), str(-(2**63)), str(2**64), "a" * 140_000, "=1+1", "-", "#"),
]
NUMBERS = ["0", "-1", "1", "3", "7", "1e9", "1000000000", "99999999999999999999", "nan", "x", ""]
LEVELS = ["0.5", "0,1", "1e-11,1e-12", "0.05,0.05", "nan", "-1", "", ",", "0.1,0.2,0.3", "1e-400"]
AT = ["gaps", "0:9:1", "1e28:1e29:1e28", "2020-01-01:2020-02-01:1D", "9:0:1", "::", "-", ".."]


# --- Cases: each fills a folder, and returns the arguments of a command ---------------------------


def table_case(folder: Path, chance: random.Random) -> list[str]:
    """Change cells, names, rows and bytes of a small table."""
    rows = [line.split(",") for line in chance.choice([SERIES, LONG]).splitlines()]
    for _ in range(chance.randint(1, 4)):
        row = chance.choice(rows)
        row[chance.randrange(len(row))] = chance.choice(CELLS)
    if chance.random() < 0.3:
        chance.choice(rows).append(chance.choice(CELLS))
    if chance.random() < 0.2:
        rows.insert(chance.randrange(len(rows)), [])
    separator, end = chance.choice(",,,;\t|"), chance.choice(["\n", "\n", "\r\n", "\r"])
    content = end.join(separator.join(row) for row in rows).encode(
        chance.choice(["utf-8", "utf-8", "utf-16", "cp1252"]), errors="replace"
    )
    (folder / "table.csv").write_bytes(
        _mutated(content, chance) if chance.random() < 0.3 else content
    )
    return ["predict", "table.csv", *(["--plot", "out.png"] if chance.random() < 0.3 else [])]


def option_case(folder: Path, chance: random.Random) -> list[str]:
    """Give options of every kind to a good table."""
    (folder / "table.csv").write_text(chance.choice([SERIES, LONG]))
    names = ["date", "temp", "t", "v", "id", "", "no", "$x^$", "a" * 300]
    offered = {
        "--time": names,
        "--value": names,
        "--group": names,
        "--at": [*AT, *NUMBERS, "table.csv"],
        "--quantiles": LEVELS,
        "--samples": NUMBERS,
        "--seed": NUMBERS,
        "--model": [
            "general",
            "eq-cnp",
            "no",
            "",
            ".",
            "../..",
            "celeba32-convcnp-long",
            "a" * 300,
        ],
        "--out": ["out.csv", "out.parquet", "out.txt", "no/out.csv", "table.csv", ".", ""],
        "--plot": ["out.png", "out.jpg", "no/out.png", "."],
    }
    chosen = chance.sample(sorted(offered), chance.randint(1, 3))
    return ["predict", "table.csv", *(p for o in chosen for p in (o, chance.choice(offered[o])))]


def model_case(folder: Path, chance: random.Random) -> list[str]:
    """Change the bytes of a model's weights, or a number or word of its description."""
    from convcnp.predict.zoo import WEIGHTS

    (folder / "table.csv").write_text(SERIES)
    name = chance.choice(["general", "eq-cnp", "eq-convcnp", "matern-attncnp"])
    weights = (WEIGHTS / f"{name}.safetensors").read_bytes()
    described = json.loads((WEIGHTS / f"{name}.json").read_text())
    if chance.random() < 0.5:
        weights = _mutated(weights, chance)
    else:
        part = described["experiment"][chance.choice(["model", "data"])]
        absurd = [0, -1, 1e300, 1e-300, 10**9, [], [1] * 400, "no", None, {}, float("nan"), "/etc"]
        part[chance.choice(sorted(part))] = chance.choice(absurd)
    (folder / "model").mkdir()
    (folder / "model/best.safetensors").write_bytes(weights)
    (folder / "model/result.json").write_text(json.dumps(described))
    return ["predict", "table.csv", "--model", "model", "--at", "3"]


def picture_case(folder: Path, chance: random.Random) -> list[str]:
    """Change the bytes of a picture, its kind, or what is asked of it."""
    from PIL import Image

    mode = chance.choice(["L", "RGB", "RGBA", "LA", "1", "P", "I;16", "F", "CMYK"])
    size = (chance.randint(1, 40), chance.randint(1, 40))
    picture, content = Image.new(mode, size), io.BytesIO()
    kinds = {"F": "TIFF", "I;16": "PNG", "CMYK": "JPEG", "RGB": chance.choice(["PNG", "JPEG"])}
    picture.save(content, kinds.get(mode, "PNG"))
    found = content.getvalue()
    (folder / "photo.png").write_bytes(_mutated(found, chance) if chance.random() < 0.7 else found)
    asked = chance.choice(["--keep=5%", "--keep=200%", "--box=0,0,1,1", "--mask=photo.png"])
    return ["complete", "photo.png", asked, "--max-megapixels", "1"]


def _mutated(content: bytes, chance: random.Random) -> bytes:
    """Flip, cut, repeat or insert bytes."""
    changed = bytearray(content)
    for _ in range(chance.randint(1, 8)):
        place = chance.randrange(min(len(changed), 4096)) if changed else 0
        action = chance.choice(["flip", "flip", "cut", "insert", "repeat"])
        if action == "flip" and changed:
            changed[place] ^= 1 << chance.randrange(8)
        elif action == "cut":
            del changed[place : place + chance.choice([1, 10, len(changed)])]
        elif action == "insert":
            changed[place:place] = chance.randbytes(chance.choice([1, 4, 100]))
        else:
            changed[place:place] = changed[place : place + 100]
    return bytes(changed)


KINDS: dict[str, Callable[[Path, random.Random], list[str]]] = {
    "table": table_case,
    "option": option_case,
    "model": model_case,
    "picture": picture_case,
}

# --- Trying them ----------------------------------------------------------------------------------


def try_case(seed: int, number: int) -> str | None:
    """Try the case of a number in a folder of its own, and return what is wrong with its end."""
    chance = random.Random(f"{seed}/{number}")
    kind = list(KINDS)[number % len(KINDS)]
    folder = Path(tempfile.mkdtemp())
    try:
        with contextlib.chdir(folder):
            arguments = KINDS[kind](folder, chance)
            complaint = _wrong_end(arguments, folder)
    finally:
        shutil.rmtree(folder)
    return None if complaint is None else f"case {number} ({kind}): {arguments}: {complaint}"


def _wrong_end(arguments: list[str], folder: Path) -> str | None:
    from convcnp.cli import main

    out, errors, code = io.StringIO(), io.StringIO(), 0
    before, given = {path.name for path in folder.iterdir()}, sys.argv
    try:
        sys.argv = ["convcnp", *arguments]
        sys.stdin = io.TextIOWrapper(io.BytesIO(b""))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except BaseException:
        return traceback.format_exc(limit=-3)
    finally:
        sys.argv = given
    new = {path.name for path in folder.iterdir()} - before
    said = errors.getvalue()
    if code not in (0, 2):
        return f"exit code {code}"
    if code == 2 and "Error" not in said:
        return f"no sentence, but {said[-200:]!r}"
    if code == 2 and new:
        return f"left {sorted(new)} and failed"
    if len(said) > 20_000:
        return f"said {len(said):,} characters"
    if code == 0 and ("inf" in out.getvalue().split("\n", 1)[-1]):
        return f"infinite numbers: {out.getvalue()[:300]!r}"
    return None


def main() -> None:
    """Try cases, and end with code 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--cases", type=int, default=1000)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    failed = 0
    for number in range(options.first, options.first + options.cases):
        if (complaint := try_case(options.seed, number)) is not None:
            failed += 1
            print(complaint, flush=True)
    print(f"{options.cases - failed} of {options.cases} cases ended well (seed {options.seed}).")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
