"""What of a folder is in the table: every ingested file with the fingerprint that was read and its segments, and
earlier versions of it, whose rows an undo or a rollback may bring back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from segments.domain.ingestion.session import FileRecord, FileState, Fingerprint

#: Earlier versions of a file that are remembered: a session further back is not undone, and its segments have hardly
#: been kept.
_MOST: Final = 20
#: The key under which earlier versions are written down; no file has it. Programs that do not know it take it for a
#: file that is not in the folder any more.
_EARLIER: Final = ""


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
    replaces: bool = False,
    kept: Mapping[str, str] | None = None,
) -> dict[str, Ingested]:
    """The registry once the session's staged files are visible and the segments ``replaced`` are not any more.

    ``is_swap``: nothing but the session's files is in the table then. ``replaces``: of a file that was read again
    nothing older is left, also where queries did not see it any more. ``kept``: which new segments hold the rows of
    replaced ones that stay.
    """
    after = {} if is_swap else dict(_without(before, frozenset(replaced), kept or {}))
    for file in files:
        if file.state not in (FileState.BUILT, FileState.DONE):
            continue
        old = after.get(file.uri, Ingested(file.fingerprint, ()))
        older = () if replaces else tuple(s for s in old.segments if s not in file.segments)
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
    return {uri: _values(known) for uri, known in registry.items()}


def from_json(body: Mapping[str, Any]) -> dict[str, Ingested]:
    """Back from ``to_json``; also from what was written before ends, and checksums, were remembered."""
    return {uri: _ingested(*values) for uri, values in body.items()}


def _values(known: Ingested) -> list[Any]:
    mark = known.fingerprint
    ends = [known.ends.get(name, 0) for name in known.segments]
    return [mark.mtime_ns, mark.size, mark.etag, list(known.segments), ends, mark.checksum]


def _ingested(
    mtime: int, size: int, etag: str, segments: Iterable[str], ends: Iterable[int] = (), checksum: str = ""
) -> Ingested:
    names = tuple(segments)
    known = {name: end for name, end in zip(names, ends, strict=False) if end}
    return Ingested(Fingerprint(mtime, size, etag, checksum), names, known)


@dataclass(frozen=True)
class IngestedFiles:
    """``files``: the newest version of each file that is in the table, or was until an undo. ``earlier``: versions
    whose rows were replaced or removed, by URI, newest first.
    """

    files: Registry = field(default_factory=dict)
    earlier: Mapping[str, tuple[Ingested, ...]] = field(default_factory=dict)

    def after(self, files: Registry) -> IngestedFiles:
        """Once these are in the table: versions that lost a segment count as earlier ones."""
        earlier = dict(self.earlier)
        for uri, was in self.files.items():
            now = files.get(uri)
            if was.segments and (now is None or not set(was.segments) <= set(now.segments)):
                earlier[uri] = (was, *earlier.get(uri, ()))[:_MOST]
        return IngestedFiles(files, earlier)

    def shown(self, visible: Collection[str]) -> dict[str, Ingested]:
        """The files with the segments that hold their rows: also those of earlier versions that queries, which see the
        ``visible`` segments, see again. A file of which only such are left is as it was then.
        """
        found = dict(self.files)
        for uri, versions in self.earlier.items():
            known = found.get(uri)
            again = {
                name: version
                for version in reversed(versions)
                for name in version.segments
                if name in visible and (known is None or name not in known.segments)
            }
            if again:
                base = known or Ingested(next(v for v in versions if v in again.values()).fingerprint, ())
                ends = {name: version.ends[name] for name, version in again.items() if name in version.ends}
                found[uri] = Ingested(base.fingerprint, (*base.segments, *again), {**base.ends, **ends})
        return found


def ingested_to_json(ingested: IngestedFiles) -> dict[str, Any]:
    """Plain values."""
    body = to_json(ingested.files)
    if ingested.earlier:
        versions = {uri: [_values(version) for version in found] for uri, found in ingested.earlier.items()}
        body[_EARLIER] = [0, -1, "", [], [], "", versions]
    return body


def ingested_from_json(body: Mapping[str, Any]) -> IngestedFiles:
    """Back from ``ingested_to_json``; also from what was written before earlier versions were remembered."""
    files = {uri: values for uri, values in body.items() if uri != _EARLIER}
    *_, versions = body.get(_EARLIER, ({},))
    earlier = {uri: tuple(_ingested(*values) for values in found) for uri, found in versions.items()}
    return IngestedFiles(from_json(files), earlier)
