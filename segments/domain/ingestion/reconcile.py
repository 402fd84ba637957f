"""What a retry makes of a session's files: the folder is listed again, and each file is kept, read again, added or
dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from segments.domain.ingestion.plan import Listing, Visible, is_wanted
from segments.domain.ingestion.registry import Registry
from segments.domain.ingestion.session import FileRecord, FileState, Fingerprint
from segments.domain.ingestion.task_config import IngestionTask


def reconcile(
    task: IngestionTask, files: Sequence[FileRecord], listing: Listing, registry: Registry, visible: Visible
) -> tuple[FileRecord, ...]:
    """The files of the session's next run, sorted by URI.

    A staged file that is still listed is kept, even if it changed: the next session reads the new version. One that
    left the folder is dropped, with its staged segments. What failed is read as it is now. Files that appeared since
    are added.
    """
    dissolved = {n for f in files if f.uri not in listing for n in f.ordinals}
    after = [_again(file, listing.get(file.uri), dissolved) for file in files]
    known = {f.uri for f in files}
    added = [
        FileRecord(uri, found)
        for uri, found in listing.items()
        if uri not in known and is_wanted(task, uri, found, registry, visible)
    ]
    return tuple(sorted((*after, *added), key=lambda f: f.uri))


def _again(file: FileRecord, found: Fingerprint | None, dissolved: Iterable[int]) -> FileRecord:
    if found is None:
        return file.emptied(FileState.DROPPED)
    is_staged = file.state in (FileState.BUILT, FileState.DONE)
    if is_staged and not set(file.ordinals) & set(dissolved):
        return file
    return replace(file.emptied(FileState.PENDING), fingerprint=found)
