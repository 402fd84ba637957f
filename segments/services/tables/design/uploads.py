"""Files that people send to make tables of: kept for a day or until they are pushed, within bounds for each person."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Final

from django.conf import settings

from segments.errors import PayloadTooLarge, PinotAdminError, TooManyRequests
from segments.gateways.input_files.uploaded_files import Stream, UploadedFile, UploadedFiles, owner_key
from segments.models import Push
from segments.services.core import audit
from segments.services.core.context import Actor, Context

#: Seconds that a file is kept which nothing is made of, and that an unfinished one may take.
KEPT_S: Final = 86_400
_UNFINISHED_S: Final = 7_200
#: Files of one person.
_MOST_FILES: Final = 50
_AGAIN_S: Final = 600
_OPEN: Final = (Push.State.QUEUED, Push.State.RUNNING, Push.State.BLOCKED)

_lock = threading.Lock()
#: Bytes that uploads under way in this process may still write, by person.
_under_way: Counter[str] = Counter()


def room_for(person: str) -> int:
    """How many bytes this person may send now as one file. TooManyRequests when there is no room."""
    used = _used(person)
    with _lock:
        return _room(person, used)


def save_upload(ctx: Context, name: str, size: int | None, stream: Stream, actor: Actor) -> UploadedFile:
    """Keep a file of which ``size`` bytes are announced (None: not known); one audit record.

    Raises TooManyRequests without room, PayloadTooLarge beyond it, Unavailable when the disk is full or hangs; then
    nothing is left.
    """
    remove_expired(ctx.clock() / 1000, actor.name)
    with _reserved(actor.name, size) as most:
        saved = _folder().save(actor.name, uuid.uuid4().hex, name, stream, most, settings.KEPT_FREE_BYTES)
    audit.record(actor, "uploadFile", cluster=ctx.cluster, target=saved.path.name, bytes=saved.size)
    return saved


def find_upload(person: str, upload_id: str) -> UploadedFile:
    """A file that this person sent. NotFound when there is none."""
    return _folder().find(person, upload_id)


@contextmanager
def named_as_sent(folder: str) -> Iterator[None]:
    """Refusals name an uploaded file as its sender does, not by the folder in which it is kept."""
    try:
        yield
    except PinotAdminError as error:
        error.message = error.message.replace(f"{folder.rstrip('/')}/", "")
        error.args = (error.message,)
        raise


def remove_expired(now_s: float, person: str | None = None) -> list[str]:
    """Remove files (of one person, or of everybody) that were pushed, or are too old at ``now_s`` (seconds since 1970)
    and no push still reads; one sentence each.
    """
    files = _folder().all(person)
    pushed, read = _uses([f.folder for f in files])
    done = []
    for file in files:
        age = now_s - file.began_s
        is_old = age > (KEPT_S if file.is_whole else _UNFINISHED_S)
        if file.folder not in read and (is_old or file.folder in pushed):
            _folder().remove(file)
            done.append(f"Removed the uploaded file '{file.path.name}', {file.size} bytes.")
    return done


def _uses(folders: Sequence[str]) -> tuple[set[str], set[str]]:
    """(folders whose push is done, folders that a push reads or may read)."""
    uses = Push.objects.filter(spec__inputDirURI__in=list(folders)).values_list("spec__inputDirURI", "state")
    found = list(uses) if folders else []
    return {f for f, state in found if state == Push.State.DONE}, {f for f, state in found if state in _OPEN}


@contextmanager
def _reserved(person: str, size: int | None) -> Iterator[int]:
    """Bytes that may be written, counted while they are."""
    used = _used(person)
    with _lock:
        room = _room(person, used)
        if size is not None and size > room:
            raise PayloadTooLarge(
                f"The file has {size} bytes; {room} can be accepted now.",
                remedy="Send a smaller one, or put it below an input root and name its folder.",
            )
        wanted = room if size is None else size
        _under_way[person] += wanted
    try:
        yield wanted
    finally:
        with _lock:
            _under_way[person] -= wanted


def _used(person: str) -> tuple[int, int, int]:
    """(files of the person, their bytes, bytes of all files)."""
    files = _folder().all()
    mine = [f.size for f in files if f.owner == owner_key(person)]
    return len(mine), sum(mine), sum(f.size for f in files)


def _room(person: str, used: tuple[int, int, int]) -> int:
    count, mine, everybody = used
    left = min(
        settings.INPUT_UPLOADS_PER_USER_BYTES - mine - _under_way[person],
        settings.INPUT_UPLOADS_BYTES - everybody - _under_way.total(),
    )
    if left <= 0 or count >= _MOST_FILES:
        raise TooManyRequests(
            f"There is no room for another upload of user '{person}'.",
            remedy="Uploads are removed a day after they came in, or once they are pushed. The administrator can raise "
            "PINOTADMIN_INPUT_UPLOADS_PER_USER_BYTES and PINOTADMIN_INPUT_UPLOADS_BYTES.",
            retry_after_s=_AGAIN_S,
        )
    return int(min(left, settings.INPUT_UPLOAD_BYTES))


def _folder() -> UploadedFiles:
    return _opened(str(settings.INPUT_ROOTS[0]))


@lru_cache(maxsize=8)
def _opened(root: str) -> UploadedFiles:
    return UploadedFiles(root)
