"""Files that are whole at any moment, and tensors in them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from convcnp.errors import CheckpointError


def write_tensors(
    path: Path, tensors: dict[str, Tensor], metadata: dict[str, Any] | None = None
) -> None:
    """Write named tensors and JSON metadata; at any moment the file is the old or the new one."""
    contiguous = {
        name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()
    }
    write_atomically(path, save(contiguous, {"json": json.dumps(metadata or {})}))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `write_tensors` wrote."""
    try:
        with safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return tensors, json.loads((file.metadata() or {}).get("json", "{}"))
    except (OSError, ValueError, RuntimeError) as error:
        raise CheckpointError(
            f"{path} must be a readable safetensors file ({error}); it may be cut short: remove it."
        ) from error
    except Exception as error:
        if type(error).__name__ != "SafetensorError":
            raise
        raise CheckpointError(
            f"{path} must be a safetensors file ({error}); it may be cut short: remove it."
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
