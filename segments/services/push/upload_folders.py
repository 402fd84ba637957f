"""Folders of files that came in one by one: each holds one, below the data directory, until the push that reads it is
over. The folder has the push's id, so that after a crash everybody can say whether it is still needed.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from django.conf import settings
from django.utils import timezone

from segments.errors import Unavailable
from segments.models import Push

#: Seconds that a folder without a push is left alone: somebody may be writing into it.
_PATIENCE_S: Final = 900.0


def root() -> Path:
    """Parent of all."""
    return Path(settings.DATA_DIR) / "uploads"


def folder_of(upload: uuid.UUID) -> Path:
    """The folder of one, which need not exist yet."""
    return root() / str(upload)


def check_room(size: int) -> None:
    """Unavailable when so many bytes more would leave the disk with less than is kept free."""
    root().mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(root()).free - size < settings.KEPT_FREE_BYTES:
        raise Unavailable(
            f"The disk for uploads would be left with less than {settings.KEPT_FREE_BYTES} free bytes.",
            remedy="Make room on it, then try again.",
        )


def remove_unless_needed(upload: uuid.UUID) -> bool:
    """Remove a folder, unless its push is under way; True when it is gone."""
    if Push.objects.filter(pk=upload).exclude(state__in=Push.TERMINAL).exists():
        return False
    shutil.rmtree(folder_of(upload), ignore_errors=True)
    return not folder_of(upload).exists()


def sweep() -> list[str]:
    """Remove what a process left that died, or did not wait for its push; one sentence each."""
    return [f"The file of upload {each} was removed." for each in _over() if remove_unless_needed(each)]


def _over() -> Iterator[uuid.UUID]:
    """Folders whose push is not under way."""
    found: dict[uuid.UUID, Path] = {}
    for folder in root().iterdir() if root().is_dir() else ():
        with suppress(ValueError):  # not one of ours
            found[uuid.UUID(folder.name)] = folder
    state = dict(Push.objects.filter(pk__in=found).values_list("pk", "state"))
    for upload, folder in found.items():
        is_over = state[upload] in Push.TERMINAL if upload in state else _is_abandoned(folder)
        if is_over:
            yield upload


def _is_abandoned(folder: Path) -> bool:
    try:
        newest = max(each.stat().st_mtime for each in (folder, *folder.iterdir()))
    except OSError:  # somebody else removes it
        return False
    return timezone.now().timestamp() - newest > _PATIENCE_S
