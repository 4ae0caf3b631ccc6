"""Files that are whole at any moment, and tensors in them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convcnp.errors import CheckpointError, OutputError

if TYPE_CHECKING:
    from torch import Tensor


def write_tensors(
    path: Path, tensors: dict[str, Tensor], metadata: dict[str, Any] | None = None
) -> None:
    """Write named tensors and JSON metadata; at any moment the file is the old or the new one."""
    from safetensors.torch import save  # with torch, which files of text do without

    contiguous = {
        name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()
    }
    write_atomically(path, save(contiguous, {"json": json.dumps(metadata or {})}))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `write_tensors` wrote."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return tensors, json.loads((file.metadata() or {}).get("json", "{}"))
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise CheckpointError(
            f"{path} must be a readable safetensors file ({error}); it may be cut short: remove it."
        ) from error


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file in one step, so that a crash leaves the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")  # one that a kill leaves is written over
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def is_file(name: str) -> bool:
    """Tell whether something of this name is there."""
    try:
        return bool(name) and Path(name).exists()
    except OSError:  # a name too long
        return False


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """Say which directory cannot be written, where something within fails to be."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"Expected a directory that can be written, but {directory} cannot "
            f"({error.strerror or error}); choose another."
        ) from error
