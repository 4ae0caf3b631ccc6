"""A model of one's own: a table or a folder of images in, a run like any other out."""

from __future__ import annotations

import csv
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from convcnp.data.images.files import holds_images
from convcnp.data.source import NamedSource
from convcnp.errors import CheckpointError, OutputError, TableError
from convcnp.frames.reading import TableFile, digest_of, plain, read_table
from convcnp.storage import check_folder, write_together
from convcnp.training.checkpoint import EXPERIMENT
from convcnp.training.experiment import Experiment, read_toml
from convcnp.training.lock import is_empty, locked, refuse_if_held
from convcnp.training.loop import Reporter
from convcnp.training.own.choices import Plan, Say, Wanted, merge
from convcnp.training.own.images import plan_images, refuse_columns
from convcnp.training.own.table import plan_table
from convcnp.training.run import as_toml, run
from convcnp.training.together import by_first

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Reporting = Callable[[str, int], AbstractContextManager[Reporter]]  # of a name and its steps

TABLE = "table.csv"  # in a run's directory, where the data was no file


def silently(name: str, steps: int) -> AbstractContextManager[Reporter]:
    """Report nothing."""
    return nullcontext(lambda progress, metrics: None)


def train_own(
    data: Path | None,
    out: Path,
    wanted: Wanted,
    *,
    resume: bool = False,
    fabric: Fabric | None = None,
    say: Say = lambda text: None,
    reporting: Reporting = silently,
) -> dict[str, Any]:
    """Train a model on a table or images into a directory, and return the result of the run.

    Args:
        data: The table, or the folder or zip file of images; a run that is resumed knows its own.
        resume: Go on with the run in the directory, with the settings chosen when it began.
        fabric: Where and in how many processes to train; all do as the first has chosen.
    """
    source: NamedSource | None = None

    def chosen() -> Experiment:
        nonlocal source
        check_out(out, resume=resume)
        if resume:
            return _continued(out, wanted, data)
        plan = _plan(data, wanted, say)
        source = plan.source
        return plan.experiment

    experiment = by_first(fabric, chosen)
    return _run(experiment, out, reporting, resume=resume, source=source, fabric=fabric)


def _plan(data: Path | None, wanted: Wanted, say: Say) -> Plan:
    if data is None:
        raise TableError(
            "Expected a table or a folder of images to train on, got none; name it with data=."
        )
    if holds_images(data):
        return plan_images(data, wanted, say)
    return plan_table(read_table(data), wanted, say)


def train_on_frame(
    frame: pd.DataFrame,
    out: Path,
    wanted: Wanted,
    *,
    say: Say = lambda text: None,
    reporting: Reporting = silently,
) -> dict[str, Any]:
    """Train on a table in memory; a copy of it is kept in the directory."""
    check_out(out, resume=False)
    frame = plain(frame)
    # Quotes tell names that are numbers from a first row of data.
    content = frame.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC).encode()
    table = TableFile(frame, digest_of(content), str((out / TABLE).resolve()))
    plan = plan_table(table, wanted, say)
    with locked(out):  # with the description: a run that is killed between them could not go on
        description = as_toml(plan.experiment).encode()
        write_together({out / TABLE: content, out / EXPERIMENT: description})
    # The copy is read, as it will be to resume the run: its numbers may be rounded.
    return _run(plan.experiment, out, reporting)


def _run(
    experiment: Experiment,
    out: Path,
    reporting: Reporting,
    *,
    resume: bool = False,
    source: NamedSource | None = None,
    fabric: Fabric | None = None,
) -> dict[str, Any]:
    name = f"own/{out.name}"
    with reporting(out.name, experiment.training.steps) as report:
        return run(
            experiment, name, out, resume=resume, report=report, source=source, fabric=fabric
        )


def check_out(out: Path, *, resume: bool) -> None:
    """Refuse, before any work, a directory that holds something or cannot be written."""
    refuse_if_held(out)
    if resume:
        if not (out / EXPERIMENT).exists():
            raise CheckpointError(
                f"Expected a run to continue in {out}, but {EXPERIMENT} is not there; leave out "
                "resume=True to start one."
            )
        return
    if out.exists() and not (out.is_dir() and is_empty(out)):
        raise OutputError(
            f"Expected a new or empty directory, but {out} exists; add resume=True to go on with "
            "the run in it, or choose another with out=."
        )
    check_folder(out)


def _continued(out: Path, wanted: Wanted, data: Path | None) -> Experiment:
    """Return the experiment of a run, changed by what is given: `run` refuses if it differs."""
    content = Experiment.parse(read_toml(out / EXPERIMENT)).model_dump(exclude_none=True)
    if content["data"]["name"] != "table":
        refuse_columns(wanted.columns)
    named = {role: name for role, name in wanted.columns.given.items() if name}
    if "values" in named and "channel" in content["data"]:
        named["value"] = named.pop("values")[0]
    if data is not None:
        named["path"] = str(data.resolve())
    for change in (wanted.settings, {"data": named}):
        merge(content, change)
    return Experiment.parse(content)
