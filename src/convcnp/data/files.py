"""Files of real data sets: found in the user's folder, else downloaded once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from convcnp.errors import DataError, import_extra


@dataclass(frozen=True)
class Upstream:
    """Where a file comes from, and the hash that tells it is whole."""

    url: str
    md5: str

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.url.rpartition("/")[2]


def data_folder() -> Path | None:
    """Return the folder that the environment variable CONVCNP_DATA names, if it is set."""
    name = os.environ.get("CONVCNP_DATA")
    return Path(name) if name else None


def data_file(folder: str, names: Sequence[str], upstream: Upstream | None = None) -> Path:
    """Return the first of these files that the data folder has, else download it once.

    Args:
        folder: The data set's own folder within the data folder.
        names: What the file may be called there.
        upstream: Where to get it; without, a missing file is refused.
    """
    root = data_folder()
    for name in names:
        if root is not None and (root / folder / name).exists():
            return root / folder / name
    wanted = f"{' or '.join(names)} in the folder {folder} of the folder that CONVCNP_DATA names"
    if upstream is None:
        raise DataError(
            f"Expected {wanted} ({root or 'not set'}), but it is not there; get it from its "
            "authors, and put it there."
        )
    return _downloaded(folder, upstream, wanted)


def _downloaded(folder: str, upstream: Upstream, wanted: str) -> Path:
    pooch = import_extra("pooch", "images")
    try:
        path = pooch.retrieve(
            upstream.url,
            known_hash=f"md5:{upstream.md5}",
            fname=upstream.name,
            path=pooch.os_cache("convcnp") / folder,
            progressbar=_ProgressBar(upstream.name),
        )
    except (OSError, ValueError) as error:  # no connection, or another hash
        raise DataError(
            f"Expected {wanted}, or {upstream.url} to answer with the file known here, but "
            f"{str(error).splitlines()[0]}; try again later, or put the file there."
        ) from error
    return Path(path)


class _ProgressBar:
    """A bar of rich's with the methods that pooch calls; on standard error, terminals only."""

    def __init__(self, name: str) -> None:
        console = Console(stderr=True)
        self._bar = Progress(console=console, transient=True, disable=not console.is_terminal)
        self._row = self._bar.add_task(name)

    @property
    def total(self) -> float:
        """Bytes to come, set by pooch."""
        return self._bar.tasks[0].total or 0

    @total.setter
    def total(self, total: float) -> None:
        self._bar.start()
        self._bar.update(self._row, total=total)

    def update(self, advance: float) -> None:
        """Take note of bytes that arrived."""
        self._bar.advance(self._row, advance)

    def reset(self) -> None:
        """Begin again, as pooch does before it fills the bar at the end."""
        self._bar.reset(self._row)

    def close(self) -> None:
        """Remove the bar."""
        self._bar.stop()
