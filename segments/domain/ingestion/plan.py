"""Which files a new session reads, by mode, and which segments its switch replaces."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Final

from segments.domain.formats.plural import counted
from segments.domain.ingestion.registry import Ingested, Registry
from segments.domain.ingestion.replaced_part import Selector
from segments.domain.ingestion.selection import Extent, chosen_segments
from segments.domain.ingestion.session import FileRecord, FileState, Fingerprint
from segments.domain.ingestion.task_config import IngestionMode, IngestionTask, ModifiedFilePolicy
from segments.domain.push.path_pattern import parse_pattern
from segments.errors import InvalidInput, StateConflict

#: Names that a message lists.
_NAMED: Final = 5
#: By URI, as listed now.
Listing = Mapping[str, Fingerprint]


@dataclass(frozen=True)
class Visible:
    """What queries see of the table: segments with what is known of their rows. ``merged``: segments that another
    replacement put others in place of. ``kept_from_ms``: the table's retention removes segments whose rows all end
    before (epoch ms); None: none. ``no_split`` is why segments are not split here; empty: they can be.
    """

    segments: Mapping[str, Extent] = field(default_factory=dict)
    merged: Set[str] = frozenset()
    kept_from_ms: int | None = None
    no_split: str = ""

    def is_missing(self, known: Ingested, segment: str) -> bool:
        """Is a segment of an ingested file gone, and not because its rows became older than the table's retention?"""
        return segment not in self.segments and not self._is_expired(known, segment)

    def expected(self, known: Ingested) -> Set[str]:
        """Segments of an ingested file but for those that retention removed."""
        return {s for s in known.segments if s in self.segments or not self._is_expired(known, s)}

    def _is_expired(self, known: Ingested, segment: str) -> bool:
        end = known.ends.get(segment)
        return self.kept_from_ms is not None and end is not None and end < self.kept_from_ms


@dataclass(frozen=True)
class Plan:
    """What a session does: files to read, and URIs of the registry that are no longer listed, whose rows go with the
    switch. ``idle`` is why there is nothing to do.
    """

    files: tuple[FileRecord, ...] = ()
    vanished: tuple[str, ...] = ()
    idle: str = ""


def new_plan(
    task: IngestionTask, listing: Listing, registry: Registry, visible: Visible, *, forced: bool = False
) -> Plan:
    """The plan of a session that begins now. ``forced``: a swap is done although nothing changed.

    Raises InvalidInput for an empty folder that would empty the table, StateConflict where rows of changed or vanished
    files are in segments that something else merged.
    """
    check_not_empty(task, listing)
    if replaces_all(task):
        return _all_of(task, listing, registry, visible, forced=forced or task.force_swap)
    files = tuple(
        FileRecord(uri, listing[uri])
        for uri in sorted(listing)
        if is_wanted(task, uri, listing[uri], registry, visible)
    )
    gone = vanished(task, listing, registry)
    _check_not_merged(task, [*(f.uri for f in files), *gone], registry, visible)
    return Plan(files, gone, "" if files or gone else "Nothing changed in the input folder.")


def replaces_all(task: IngestionTask) -> bool:
    """Are all listed files read, whatever is in the table: for the whole table, or for the part that is selected?"""
    return task.swap or task.selector is not None


def follows_folder(task: IngestionTask) -> bool:
    """Does the table, or its selected part, show what is in the folder, and nothing else?"""
    return replaces_all(task) or task.mode is IngestionMode.SYNC


def replaces_files(task: IngestionTask) -> bool:
    """Do the rows of a file that is read again take the place of its older ones, file by file?"""
    is_replaced = task.mode is IngestionMode.SYNC or task.modified_file_policy is ModifiedFilePolicy.REPLACE
    return is_replaced and not replaces_all(task)


def check_not_empty(task: IngestionTask, listing: Listing) -> None:
    """Raises InvalidInput for an empty folder that would empty the table."""
    if not listing and follows_folder(task) and not task.allow_empty_swap:
        raise InvalidInput(
            f"No file found in '{task.input_dir}': the table would be emptied.",
            remedy="Check inputDirURI and the file name patterns, or set allowEmptySwap to true.",
            field="inputDirURI",
        )


def is_wanted(task: IngestionTask, uri: str, found: Fingerprint, registry: Registry, visible: Visible) -> bool:
    """Has a new session to read this listed file?"""
    known = registry.get(uri)
    if known is None or replaces_all(task):
        return True
    if task.mode is IngestionMode.SYNC:
        return known.fingerprint != found or any(visible.is_missing(known, s) for s in known.segments)
    return known.fingerprint != found and task.modified_file_policy is not ModifiedFilePolicy.SKIP


def touched(listing: Listing, registry: Registry, visible: Visible) -> list[str]:
    """Ingested files of which the listing shows another time and nothing else, and of which it is known what bytes were
    read: these say whether the file changed. One of which rows are gone from the table is not among them.
    """
    return [
        uri
        for uri, known in registry.items()
        if (found := listing.get(uri)) is not None
        and (found.mtime_ns != known.fingerprint.mtime_ns and found.size == known.fingerprint.size)
        and known.fingerprint.marks
        and not any(visible.is_missing(known, segment) for segment in known.segments)
    ]


def added_again(task: IngestionTask, files: Iterable[FileRecord], registry: Registry) -> tuple[str, ...]:
    """Files that were ingested before they changed, and whose earlier rows stay: rows may be there twice."""
    if follows_folder(task) or task.modified_file_policy is not ModifiedFilePolicy.ADD:
        return ()
    return tuple(f.uri for f in files if f.uri in registry and f.state is not FileState.DROPPED)


def vanished(task: IngestionTask, listing: Listing, registry: Registry) -> tuple[str, ...]:
    """Ingested files that are no longer in the folder, where the table follows it."""
    if task.mode is not IngestionMode.SYNC or replaces_all(task):
        return ()
    return tuple(sorted(uri for uri in registry if uri not in listing))


def replaced_segments(
    task: IngestionTask, files: Iterable[FileRecord], gone: Iterable[str], registry: Registry, visible: Visible
) -> tuple[str, ...]:
    """The old side of the switch, computed when it begins from what queries see then; sorted.

    Raises StateConflict where a segment crosses the edge of the replaced part, or rows that are to go were merged
    into other segments.
    """
    if task.swap:
        return tuple(sorted(visible.segments))
    if task.selector is not None:
        return _selected(task, registry, visible)
    uris = [*(f.uri for f in files if f.state is FileState.BUILT), *gone] if replaces_files(task) else list(gone)
    _check_not_merged(task, uris, registry, visible)
    old = {s for uri in uris if uri in registry for s in registry[uri].segments}
    _check_not_shared(old, uris, registry)
    return tuple(sorted(old & visible.segments.keys()))


def _all_of(task: IngestionTask, listing: Listing, registry: Registry, visible: Visible, *, forced: bool) -> Plan:
    if not forced and _is_same(task, listing, registry, visible):
        return Plan(idle="Nothing changed in the input folder since it was last ingested whole.")
    if task.selector is not None:
        _selected(task, registry, visible)  # refused before anything is read
    return Plan(tuple(FileRecord(uri, listing[uri]) for uri in sorted(listing)))


def _is_same(task: IngestionTask, listing: Listing, registry: Registry, visible: Visible) -> bool:
    """Is exactly this listing what the table shows already?"""
    known = {uri: file.fingerprint for uri, file in registry.items()}
    if task.selector is not None:
        known = {uri: known[uri] for uri in known if uri in listing}
    segments = {s for uri in known for s in visible.expected(registry[uri])}
    shown = segments == visible.segments.keys() if task.swap else segments <= visible.segments.keys()
    return known == dict(listing) and shown and (bool(listing) or not visible.segments)


def _selected(task: IngestionTask, registry: Registry, visible: Visible) -> tuple[str, ...]:
    selector = task.selector
    assert selector is not None
    if selector.files is not None:
        pattern = parse_pattern(selector.files)
        matching = [uri for uri in registry if pattern.matches(uri)]
        wanted = {s for uri in matching for s in registry[uri].segments}
        _check_not_shared(wanted & visible.segments.keys(), matching, registry)
        return tuple(sorted(wanted & visible.segments.keys()))
    inside, crossing = chosen_segments(selector, visible.segments)
    if crossing and (visible.no_split or not selector.splits):
        why = f" {visible.no_split}" if selector.splits else ""
        raise StateConflict(
            f"{counted(len(crossing), 'segment', 'crosses', 'cross')} the edge of the replaced {selector.what}: "
            f"{_some(crossing)}.{why}",
            remedy=widened(selector, may_split=not visible.no_split),
            segments=list(crossing[:100]),
        )
    return tuple(sorted((*inside, *crossing)))


def widened(selector: Selector, *, may_split: bool = True) -> str:
    """What to do about segments at the edge."""
    other = ", or set replaceCrossing to split" if may_split else ""
    return f"Widen {selector.keys} until they hold these segments whole{other}."


def crossing_segments(task: IngestionTask, visible: Visible) -> tuple[str, ...]:
    """Segments at the edge of the replaced part."""
    selector = task.selector
    return chosen_segments(selector, visible.segments)[1] if selector is not None and selector.has_edges else ()


def split_segments(task: IngestionTask, visible: Visible) -> tuple[str, ...]:
    """Segments that are split at an edge of the replaced part; those that may not be are refused elsewhere."""
    return crossing_segments(task, visible) if task.selector is not None and task.selector.splits else ()


def _check_not_merged(task: IngestionTask, uris: Collection[str], registry: Registry, visible: Visible) -> None:
    """Where rows of a changed file take the place of its old ones: what something merged into other segments cannot be
    taken out of them again.
    """
    if not replaces_files(task):
        return
    known = (registry.get(uri, Ingested(Fingerprint(0, 0), ())) for uri in uris)
    merged = sorted({s for file in known for s in file.segments if s in visible.merged and s not in visible.segments})
    if merged:
        raise StateConflict(
            f"Rows of changed or deleted files were merged into other segments: {_some(merged)} are gone.",
            remedy="Set consistentPushSwapEnabled to true for one run: it replaces the whole table.",
            segments=merged[:100],
        )


def _check_not_shared(old: Set[str], uris: Collection[str], registry: Registry) -> None:
    """A segment that holds rows of other files, too, cannot go with some of them."""
    going = set(uris)
    shared = sorted({s for uri, file in registry.items() if uri not in going for s in file.segments if s in old})
    if shared:
        raise StateConflict(
            f"Segments of the files whose rows are to go hold rows of other files, too: {_some(shared)}.",
            remedy="Set consistentPushSwapEnabled to true for one run: it replaces the whole table.",
            segments=shared[:100],
        )


def _some(names: Collection[str]) -> str:
    first = list(names)[:_NAMED]
    return ", ".join(first) + (f" and {len(names) - len(first)} more" if len(names) > len(first) else "")
