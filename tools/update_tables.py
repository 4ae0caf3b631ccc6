"""Write what is generated into README, docs and the app; with --check, fail if it is stale.

Tables stand between marks such as `<!-- table1 -->` and `<!-- /table1 -->`; excerpts of the code
between `<!-- source convcnp.core.grid.Field -->` and `<!-- /source -->`.
"""

import inspect
import json
import math
import pkgutil
import re
import sys
import tomllib
from pathlib import Path
from statistics import geometric_mean, mean
from textwrap import dedent
from typing import Any

from convcnp.paper.figures.images import DEPTHS
from convcnp.paper.tables import Table, build_table, layouts

ROOT = Path(__file__).parent.parent
NAMES = {
    "convcnp": "ConvCNP",
    "convcnpxl": "ConvCNPXL",
    "attncnp": "AttnCNP, fused attention",
    "attncnp-written-out": "AttnCNP, attention written out",
}
MODELS = ("convcnp", "convcnpxl", "attncnp")
FILES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def updated(text: str) -> str:
    """Replace what stands between the marks of each table and excerpt."""

    def fresh(match: re.Match[str]) -> str:
        name = match["name"]
        return f"<!-- {name} -->\n{table(name)}<!-- /{name} -->"

    text = re.sub(
        r"<!-- (?P<name>[\w-]+) -->\n.*?<!-- /(?P=name) -->", fresh, text, flags=re.DOTALL
    )
    return re.sub(
        r"<!-- source (?P<name>[\w.]+) -->\n.*?<!-- /source -->",
        lambda match: f"<!-- source {match['name']} -->\n{excerpt(match['name'])}<!-- /source -->",
        text,
        flags=re.DOTALL,
    )


def table(name: str) -> str:
    """Return a table in Markdown."""
    if name in OTHERS:
        return OTHERS[name]()
    return build_table(name, ROOT / "experiments", ROOT / "results").markdown()


def excerpt(name: str) -> str:
    """Return the source of a function or class of the package as a block of code."""
    return f"```python\n{dedent(inspect.getsource(pkgutil.resolve_name(name)))}```\n"


def findings(word: str, file: str = "bench") -> list[dict[str, Any]]:
    """Return what `make bench`, or a part of it, found under names that contain a word."""
    found = json.loads((ROOT / f"results/{file}.json").read_text())["findings"]
    return [finding for finding in found if word in finding["name"]]


def margins_table() -> str:
    """Return the training times by padding and margin that `make bench` measured."""
    rows = [
        [
            *finding["name"].split(", ")[2:],
            f"{finding['parts']['cells']}",
            f"{finding['value']:.2f}",
        ]
        for finding in findings("margin")
    ]
    header = ["Padding", "Trained on", "Cells", "Time of a step, relative to the least"]
    return Table("", header, rows).markdown()


def image_budgets_table() -> str:
    """Return how long the models of each column of Table 3 were trained, and the longer trained."""
    columns = build_table("table3", ROOT / "experiments", ROOT / "results").header[2:]
    rows = []
    longer = {
        (model, DEPTHS[:-1]): f", {NAMES[model].split(',')[0]} trained longer" for model in MODELS
    }
    for (model, depths), remark in {("convcnp", DEPTHS[-1:]): "", **longer}.items():
        for column in columns:
            name = f"{column.lower()}-{model}"
            paths = [ROOT / f"results/table3/{name}{depth}.json" for depth in depths]
            if found := [path for path in paths if path.exists()]:
                rows.append([column + remark, *_budget(found[0])])
    header = ["Column", "Steps", "Images seen", "Training images", "Hours"]
    return Table("", header, rows).markdown()


def _budget(path: Path) -> list[str]:
    """Return steps, images and hours of a training, those that it went on from included."""
    result: dict[str, Any] | None = json.loads(path.read_text())
    assert result is not None
    training_images, steps, images, seconds = result["training_images"], 0, 0, 0.0
    while result is not None:
        steps += result["steps"]
        images += result["steps"] * result["experiment"]["training"]["batch_size"]
        seconds += result["seconds"]
        start = result.get("start")
        result = start and json.loads((path.parent / f"{start['name']}.json").read_text())
    return [f"{steps:,}", f"{images:,}", f"{training_images:,}", f"{seconds / 3600:.1f}"]


def image_steps_table() -> str:
    """Return the training times on images that `make bench` measured, beside torch's layers."""
    rows = [
        [
            NAMES[finding["name"].split(", ")[2]],
            f"{finding['parts']['ms']:.0f}",
            f"{finding['parts']['plain ms']:.0f}",
            f"{finding['value']:.1f}",
        ]
        for finding in findings("step, images")
    ]
    header = ["Model", "Step, ms", "In torch's layers, ms", "Times as fast"]
    return Table("", header, rows).markdown()


def attention_table() -> str:
    """Return memory and time of a training step on images, of ConvCNPXL and of AttnCNP."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for finding in findings(" px, "):
        size = finding["name"].split(", ")[1]
        for part, value in finding["parts"].items():  # such as "attncnp GB"
            model, unit = part.split()
            found.setdefault((size, model), {})[unit] = value
    rows = [
        [
            size,
            label,
            *(_beside(found[size, model], found[size, "convcnpxl"], u) for u in ("GB", "s")),
        ]
        for size in dict.fromkeys(size for size, _ in found)
        for model, label in NAMES.items()
        if (size, model) in found
    ]
    return Table("", ["Images", "Model", "Memory, GB", "Step, s"], rows).markdown()


def _beside(values: dict[str, float], base: dict[str, float], unit: str) -> str:
    return f"{values[unit]:.2f} ({values[unit] / base[unit]:.1f})"


def load_table() -> str:
    """Return how the app's server fared under `make load`."""
    found = json.loads((ROOT / "results/load.json").read_text())
    memory = found["memory_megabytes"]
    rows = [
        ["Requests, clients at once", f"{found['requests']:,}, {found['clients']}"],
        ["Clients that met an error", str(found["failed_clients"])],
        ["The bare model call", f"{found['bare_milliseconds']:.1f} ms"],
        ["One request at a time", f"{found['alone']:.1f} calls"],
        ["All clients at once, median", f"{found['median']:.0f} calls"],
        ["All clients at once, 99th percentile", f"{found['percentile_99']:.0f} calls"],
        ["Memory after a tenth", f"{memory['after a tenth']:.0f} MB"],
        ["Memory after all", f"{memory['after all']:.0f} MB"],
    ]
    return Table("", ["", ""], rows).markdown()


def sums_table() -> str:
    """Return the last lines of the comparison on real series, which count over all of them."""
    whole = build_table("real-series", ROOT / "experiments", ROOT / "results")
    rows = [[row[0], *row[3:]] for row in whole.rows if not row[1]]
    return Table("", ["Over all series", *whole.header[3:]], rows).markdown()


def scale_table() -> str:
    """Return what one process, a pool and Ray made of many series."""
    measured = json.loads((ROOT / "results/scale.json").read_text())["measured"]
    rates = {(m["points"], m["engine"]): m["series_per_processor_second"] for m in measured}
    rows = [
        [
            f"{m['series']:,} of {m['points']:,} points",
            m["engine"],
            f"{m['series_per_processor_second']:,.0f}",
            f"{rates[m['points'], 'pool of 2'] / m['series_per_processor_second']:.2f}",
            f"{m['processor_seconds_to_start']:.0f}",
            f"{m['peak_megabytes']:,}",
        ]
        for m in measured
    ]
    header = ["Series", "Engine", "Series a second and core", "Time beside the pool's"]
    return Table("", [*header, "To start, s", "Peak memory, all processes, MB"], rows).markdown()


def processes_table() -> str:
    """Return how fast one process and two train."""
    measured = json.loads((ROOT / "results/processes.json").read_text())["measured"]
    alone = {m["experiment"]: m["steps_per_second"] for m in measured if m["processes"] == 1}
    rows = [
        [
            f"`{Path(m['experiment']).stem}`",
            str(m["processes"]),
            f"{m['steps_per_second']:.1f}",
            f"{m['steps_per_second'] / alone[m['experiment']]:.2f}",
        ]
        for m in measured
    ]
    header = ["Experiment", "Processes", "Steps a second", "Times as fast as one"]
    return Table("", header, rows).markdown()


def scale_plan_table() -> str:
    """Return what 10^9 rows would take at the rates that were measured on Ray."""
    measured = json.loads((ROOT / "results/scale.json").read_text())["measured"]
    rows = []
    for m in measured:
        if m["engine"].startswith("Ray"):
            hours = 1e9 / m["points"] / m["series_per_processor_second"] / 3600
            rows.append([f"{m['points']:,}", f"{1e9 / m['points']:,.0f}", f"{hours:,.1f}"])
            rows[-1] += [f"{60 * hours / 8 / nodes:,.0f}" for nodes in (1, 10)]
    header = ["Rows of a series", "Series", "Hours of a core", "Minutes on a node of 8 cores"]
    return Table("", [*header, "On 10 nodes"], rows).markdown()


def decisions_table() -> str:
    """Return a list of all decisions."""
    rows = []
    for path in sorted((ROOT / "docs/decisions").glob("[0-9]*.md")):
        number, _, title = path.read_text().splitlines()[0].removeprefix("# ").partition(". ")
        rows.append([number, f"[{title}]({path.name})"])
    return "| | |\n| --: | :-- |\n" + "".join(f"| {n} | {title} |\n" for n, title in rows)


def parts_table() -> str:
    """Return where the time of a training step goes, which `python -m benchmarks parts` found."""
    steps = findings("parts of a step", file="parts")
    names = [name for name in steps[0]["parts"] if not name.endswith(", backward")]

    def milliseconds(step: dict[str, Any], name: str) -> str:
        there, back = (step["parts"].get(part) for part in (name, f"{name}, backward"))
        return f"{there:.1f}" if back is None else f"{there:.1f} + {back:.1f}"

    rows = [[name, *(milliseconds(step, name) for step in steps)] for name in names]
    rows.append(["sum", *(f"{step['value']:.1f}" for step in steps)])
    return Table("", ["Part", *(step["name"].split(", ")[1] for step in steps)], rows).markdown()


def headline_table() -> str:
    """Return what `python -m benchmarks.headline` took to pass the paper's numbers."""
    found = json.loads((ROOT / "results/headline.json").read_text())
    rows = []
    for run in found["runs"]:
        seconds = run["processor_seconds"]
        passed = f"{run['steps']:,}" if run["has_passed"] else f"not in {run['steps']:,}"
        rows.append([SPOKEN[run["data"]], f"{found['paper'][run['data']]}", str(run["seed"])])
        rows[-1] += [passed, f"{seconds:.0f}", f"{3600 * found['plain_hours'] / seconds:.0f}"]
    header = ["Functions", "Passed", "Seed", "Steps", "Seconds", "Times as fast"]
    return Table("", header, rows).markdown()


def long_series_table() -> str:
    """Return how `python -m benchmarks.long_series` fills blocks of every kind of series."""
    found = json.loads((ROOT / "results/long-series.json").read_text())["rows"]
    sizes = {row["observations"] for row in found}
    ends = min(sizes), max(sizes)
    header = ["Series", "CRPS", "Error / a line's", "Error / that of the same phases"]
    header += ["In the 90 % band", *(f"Seconds, {size:,}" for size in ends)]
    kinds = dict.fromkeys(row["kind"] for row in found)
    return Table("", header, [_kind_row(kind, found, ends) for kind in kinds]).markdown()


def _kind_row(kind: str, found: list[dict[str, Any]], sizes: tuple[int, int]) -> list[str]:
    own = [row for row in found if row["kind"] == kind]

    def ratio(way: str) -> str:
        ratios = [row["error"] / row["error_by_hand"].get(way, math.nan) for row in own]
        return "—" if math.isnan(ratios[0]) else f"{geometric_mean(ratios):.2f}"

    crps, held = geometric_mean(row["crps"] for row in own), mean(row["held"] for row in own)
    seconds = [mean(r["seconds"] for r in own if r["observations"] == size) for size in sizes]
    name = kind[0].upper() + kind[1:]
    ratios = (ratio("line"), ratio("phases"))
    return [name, f"{crps:.3f}", *ratios, f"{held:.0%}", *(f"{each:.1f}" for each in seconds)]


SPOKEN = {"eq": "EQ", "matern": "Matern-5/2"}

OTHERS = {
    "parts": parts_table,
    "headline": headline_table,
    "long-series": long_series_table,
    "margins": margins_table,
    "real-series-sums": sums_table,
    "decisions": decisions_table,
    "scale": scale_table,
    "processes": processes_table,
    "scale-plan": scale_plan_table,
    "load": load_table,
    "image-budgets": image_budgets_table,
    "image-steps": image_steps_table,
    "image-attention": attention_table,
}


def paper_numbers() -> str:
    """Return the paper's numbers by experiment, for the app's list of models."""
    numbers = {}
    for name, path in layouts(ROOT / "experiments").items():
        columns = tomllib.loads(path.read_text()).get("values", {})
        for column, rows in columns.items():
            numbers |= {f"{name}/{column}-{row}": number for row, number in rows.items()}
    return json.dumps(numbers, indent=2, sort_keys=True) + "\n"


def main() -> int:
    """Update every file, or say which ones are stale."""
    fresh = {path: updated(path.read_text()) for path in FILES}
    fresh[ROOT / "src/convcnp/app/paper.json"] = paper_numbers()
    stale = [path for path in fresh if not path.exists() or fresh[path] != path.read_text()]
    for path in stale:
        if "--check" in sys.argv:
            sys.stderr.write(f"{path.relative_to(ROOT)} is stale; run `make tables`.\n")
        else:
            path.write_text(fresh[path])
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
