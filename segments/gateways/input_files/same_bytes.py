"""Which files still hold the bytes that were read of them, although their time of change is another one."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from segments.domain.ingestion.session import Fingerprint
from segments.domain.push.push_plan import InputFile
from segments.errors import PinotAdminError
from segments.gateways.input_files.source import InputSource
from segments.gateways.timer import Timer

#: What is checked at most: for so many seconds, and bytes of local files.
_MOST_S: Final = 5.0
_MOST_BYTES: Final = 1 << 30
#: Files that are asked for at once, and between two readings of the clock: an object store takes milliseconds for each.
_AT_ONCE: Final = 8
_BATCH: Final = 64

#: Address, what is known of the bytes that were read, and what the listing shows now.
Touched = tuple[str, Fingerprint, Fingerprint]


def find_same(source: InputSource, touched: Sequence[Touched], timer: Timer) -> dict[str, Fingerprint]:
    """Those of these files that hold the same bytes, with the time of the listing and the marks that prove it. What
    cannot be asked, or is not reached in time, counts as changed.
    """
    until, wanted, found = timer.seconds() + _MOST_S, _affordable(touched), dict[str, Fingerprint]()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for first in range(0, len(wanted), _BATCH):
            if timer.seconds() > until:
                break
            batch = wanted[first : first + _BATCH]
            answers = pool.map(lambda one: _now(source, one), batch)
            found |= {uri: now for (uri, known, _), now in zip(batch, answers, strict=True) if now.has_bytes_of(known)}
    return found


def _affordable(touched: Sequence[Touched]) -> list[Touched]:
    """Files that are read for it only so far as their bytes are few together."""
    found, left = [], _MOST_BYTES
    for one in touched:
        cost = 0 if one[1].etag else one[2].size
        if cost <= left:
            found.append(one)
            left -= cost
    return found


def _now(source: InputSource, one: Touched) -> Fingerprint:
    """A file with its marks; without any where they cannot be had, or it is not the one that was listed any more."""
    uri, known, listed = one
    try:
        file = source.stat(uri)
        if (file.mtime_ns, file.size) != (listed.mtime_ns, listed.size):
            return listed
        is_known = bool(known.etag) and known.etag == file.etag
        checksum = "" if is_known else source.checksum(file)
        return Fingerprint(listed.mtime_ns, listed.size, file.etag, checksum)
    except PinotAdminError:
        return listed


def marks_of(source: InputSource, files: Sequence[InputFile]) -> dict[str, dict[str, str]]:
    """What says which bytes these files hold, by path; without those for which nothing does."""
    found = {}
    for file in files:
        try:
            here = Fingerprint(file.mtime_ns, file.size, file.etag, source.checksum(file))
        except PinotAdminError:
            continue
        if here.marks:
            found[file.path] = here.marks
    return found
