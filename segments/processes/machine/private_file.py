"""Writes files that only their owner may read, whole or not at all."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from segments.errors import RecordCorrupt


def write_private(path: Path, text: str) -> None:
    """Replace ``path`` by ``text`` with mode 0600 in one rename, so that no reader ever sees half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)


def write_private_json(path: Path, value: dict[str, Any]) -> None:
    """``write_private`` of an indented JSON object."""
    write_private(path, json.dumps(value, indent=2) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in ``path``; empty when the file is missing. RecordCorrupt when it is not a JSON object."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise RecordCorrupt(f"{path} is not valid JSON ({error}).", remedy="Repair it or move it aside.") from error
    if not isinstance(value, dict):
        raise RecordCorrupt(f"{path} holds no JSON object.", remedy="Repair it or move it aside.")
    return value


@contextmanager
def changing_json(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON object in ``path`` (empty when there is none), to be changed in the block and written at its end if it
    was; whoever else wants to change it, in whichever thread or process, waits. The folder is made. Raises
    RecordCorrupt as ``read_json`` does.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path.with_name(f".{path.name}.lock"), os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        value = read_json(path)
        before = dict(value)
        yield value
        if value != before:
            write_private_json(path, value)
    finally:
        os.close(handle)
