"""What of a folder is in the table: every ingested file with the fingerprint that was read and its segments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from segments.domain.ingestion.session import FileRecord, FileState, Fingerprint


@dataclass(frozen=True)
class Ingested:
    """One file whose rows are in the table. ``segments`` hold them; under the policy ``add`` those of older versions,
    too. ``ends``: the last time of the rows of these segments (epoch ms), as far as it is known: by it is remembered
    that a segment which is gone was as old as the table's retention.
    """

    fingerprint: Fingerprint
    segments: tuple[str, ...]
    ends: Mapping[str, int] = field(default_factory=dict)


#: By URI.
Registry = Mapping[str, Ingested]


def registry_after(
    before: Registry,
    files: Iterable[FileRecord],
    replaced: Iterable[str],
    *,
    is_swap: bool = False,
    kept: Mapping[str, str] | None = None,
) -> dict[str, Ingested]:
    """The registry once the session's staged files are visible and the segments ``replaced`` are not any more.

    ``is_swap``: nothing but the session's files is in the table then. ``kept``: which new segments hold the rows of
    replaced ones that stay.
    """
    after = {} if is_swap else dict(_without(before, frozenset(replaced), kept or {}))
    for file in files:
        if file.state not in (FileState.BUILT, FileState.DONE):
            continue
        old = after.get(file.uri, Ingested(file.fingerprint, ()))
        older = tuple(s for s in old.segments if s not in file.segments)
        ends = {name: end for name, end in zip(file.segments, file.ends, strict=False) if end}
        after[file.uri] = Ingested(file.fingerprint, (*older, *file.segments), {**_ends(old, older), **ends})
    return after


def _without(before: Registry, gone: frozenset[str], kept: Mapping[str, str]) -> Iterable[tuple[str, Ingested]]:
    """Files of which anything is left; one without rows has no segment that could go."""
    for uri, known in before.items():
        left = {kept.get(s, s): known.ends.get(s, 0) for s in known.segments if s not in gone or s in kept}
        if tuple(left) == known.segments:
            yield uri, known
        elif left:
            yield uri, Ingested(known.fingerprint, tuple(left), {s: end for s, end in left.items() if end})


def _ends(known: Ingested, segments: Iterable[str]) -> dict[str, int]:
    return {name: known.ends[name] for name in segments if name in known.ends}


def to_json(registry: Registry) -> dict[str, Any]:
    """Plain values."""
    return {
        uri: [
            known.fingerprint.mtime_ns,
            known.fingerprint.size,
            known.fingerprint.etag,
            list(known.segments),
            [known.ends.get(name, 0) for name in known.segments],
            known.fingerprint.checksum,
        ]
        for uri, known in registry.items()
    }


def from_json(body: Mapping[str, Any]) -> dict[str, Ingested]:
    """Back from ``to_json``; also from what was written before ends, and checksums, were remembered."""
    return {
        uri: Ingested(
            Fingerprint(mtime, size, etag, more[1] if len(more) > 1 else ""),
            tuple(segments),
            {name: end for name, end in zip(segments, more[0] if more else (), strict=False) if end},
        )
        for uri, (mtime, size, etag, segments, *more) in body.items()
    }
