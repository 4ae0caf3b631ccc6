"""Files that are whole at any moment, and tensors in them."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from convcnp.errors import CheckpointError, OutputError

if TYPE_CHECKING:
    from torch import Tensor

Content = bytes | Callable[[IO[bytes]], object]

WEIGHTS = Path(__file__).parent / "weights"  # of models that ship with the package

_PART = ".convcnp-part-"  # what files that are not yet whole begin with


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
    """Replace a file in one step, so that a crash leaves the old one; see `write_together`."""
    write_together({path: content})


def write_together(contents: Mapping[Path, Content]) -> None:
    """Write several files, all of them or none: each is replaced once all are on the disk.

    A content is bytes, or a function that writes them to the open file it is called with.

    A file that is there keeps its mode, a symbolic link its target, and what is read-only is
    left alone. What is not yet whole has a name that nobody can know before.
    """
    made: list[Path] = []
    parts: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            target = _target(path)
            made += _make_folders(target.parent)
            parts[target] = _new_part(target.parent)
            _write_part(parts[target], content, like=target)
        for target, part in parts.items():
            part.replace(target)
    except BaseException:
        for part in parts.values():
            part.unlink(missing_ok=True)
        for folder in reversed(made):
            with contextlib.suppress(OSError):  # something else is in it by now
                folder.rmdir()
        raise
    for folder in {target.parent for target in parts}:
        _sync_folder(folder)


def check_replaceable(path: Path) -> None:
    """Refuse to replace what is read-only, or no file."""
    target = _target(path)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not target.exists():
        return
    mode = target.stat().st_mode
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
    # The mode is asked as well: an administrator may write anything, and did not mean to.
    if not mode & 0o222 or not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "it is read-only", str(path))


def _target(path: Path) -> Path:
    """Return the file that is written: where a symbolic link leads, or the path itself."""
    try:
        return path.resolve() if path.is_symlink() else path
    except RuntimeError as error:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from error


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and those above it, and return the new ones, the uppermost first."""
    absent = [each for each in (folder, *folder.parents) if not each.exists()][::-1]
    folder.mkdir(parents=True, exist_ok=True)
    return absent


def _new_part(folder: Path) -> Path:
    return folder / f"{_PART}{secrets.token_hex(8)}"


def _write_part(part: Path, content: Content, like: Path) -> None:
    check_replaceable(like)
    # Exclusively, and never through a link that someone laid there.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(part, flags, 0o666), "wb") as file:
        if like.exists():
            part.chmod(stat.S_IMODE(like.stat().st_mode))
        if isinstance(content, bytes):
            file.write(content)
        else:
            content(file)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Put the new names on the disk as well; some file systems cannot, and need not."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written, or made, without making it."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    with writing(folder):
        tempfile.TemporaryFile(dir=existing).close()


def is_leftover(path: Path) -> bool:
    """Tell whether a file is what a killed process had begun to write."""
    return path.name.startswith(_PART)


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
    except OutputError:  # says so itself
        raise
    except OSError as error:
        raise OutputError(
            f"Expected a directory that can be written, but {directory} cannot "
            f"({error.strerror or error}); choose another."
        ) from error
