# SPDX-License-Identifier: Apache-2.0
"""Files: which one is open, and folders of a conversion that one process owns."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import weakref
from typing import Any

from . import _ingot
from ._errors import CallerError, FileError, caller_error

# Of a file's header: its own SHA-256, which covers those of all parts.
_IDENTITY = slice(32, 64)
_MAX_TRIES = 8


class TemporaryFolder:
    """Deleted with the object, or when the process ends that made it; not by a child of a fork,
    whose copy of the object ends earlier."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="ingot-")
        self.cleanup = weakref.finalize(self, _remove, self.name, os.getpid())


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


class HeldFile:
    """A file that can be read when its name is gone."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._fd)

    def read(self) -> bytes:
        parts, at = [], 0
        while part := os.pread(self._fd, 1 << 24, at):
            parts.append(part)
            at += len(part)
        return b"".join(parts)


def identity_of(header: bytes) -> bytes:
    """What tells files apart, of a file's first bytes."""
    return bytes(header[_IDENTITY])


def open_model(path: str, trust: int, map: int, isa: str | None) -> tuple[Any, bytes | None]:
    """The model, and the identity of the file that it is; another may be put in its place
    meanwhile. None where only the extension knows the file."""
    for _ in range(_MAX_TRIES):
        before = _stamp(path)
        identity = _read_identity(path)
        model = _ingot.Model.open_file(os.fsencode(path), trust, map, isa)
        if before is None or before == _stamp(path):
            return model, identity
    raise FileError(f"{path}: the file changes while it is opened; write another and rename it")


def check_same_file(path: str, identity: bytes | None, found: bytes | None = None) -> None:
    """Refuses a path that has another file than the one that was opened."""
    if identity is None:
        return
    if found is None:
        found = _read_identity(path)
    if found is None:
        raise caller_error(f"{path}: the file that the model was opened from cannot be read now")
    if found != identity:
        raise other_file(path, "was opened from; open it again")


def other_file(path: str, what: str) -> CallerError:
    return caller_error(f"{path}: not the file that the model {what}", 1, "invalid_argument")


def _stamp(path: str) -> tuple[int, ...] | None:
    """None for what is no file, which only the extension refuses: a pipe would be waited for."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _read_identity(path: str) -> bytes | None:
    if _stamp(path) is None:
        return None
    try:
        with open(path, "rb") as file:
            return identity_of(file.read(_IDENTITY.stop))
    except OSError:
        return None
