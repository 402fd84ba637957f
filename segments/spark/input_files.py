"""Lists a push's input files below the configured roots, with the fingerprints that a plan freezes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from segments.domain.push.path_pattern import parse_pattern
from segments.domain.push.push_plan import InputFile
from segments.errors import Forbidden, InvalidInput, NotFound, PayloadTooLarge, StateConflict

#: Files of one push: its plan names every one of them.
MOST_FILES: Final = 100_000


def resolve_input_dir(given: str, roots: Sequence[str]) -> Path:
    """The folder, symbolic links resolved; a relative one is searched for below each root.

    Raises Forbidden listing the roots when it is outside all of them, NotFound when it is no folder.
    """
    allowed = [Path(r).resolve() for r in roots]
    tried = [Path(given)] if os.path.isabs(given) else [r / given for r in allowed]
    inside = [p for p in (t.resolve() for t in tried) if any(p.is_relative_to(r) for r in allowed)]
    if not inside:
        raise Forbidden(
            f"'inputDirURI' {given} is outside the folders that pushes may read.",
            remedy=f"Move the files below {', '.join(str(r) for r in allowed)}, or "
            "allow their folder with --input-root.",
            field="inputDirURI",
        )
    found = next((p for p in inside if p.is_dir()), None)
    if found is None:
        raise NotFound(f"'inputDirURI' {inside[0]} is no folder.", remedy="Check the path.", field="inputDirURI")
    return found


def list_files(
    folder: Path, *, recursive: bool, include: str | None, exclude: str | None, roots: Sequence[str]
) -> list[InputFile]:
    """Files below a folder, sorted by path, that match ``include`` and not ``exclude`` (both against the whole path).

    Hidden files and links that lead outside the roots are left out. Raises NotFound naming folder and patterns when
    none is left, PayloadTooLarge for more than ``MOST_FILES``.
    """
    wanted = parse_pattern(include) if include else None
    unwanted = parse_pattern(exclude) if exclude else None
    found = []
    for path in _walk(folder, recursive, [Path(r).resolve() for r in roots]):
        if (wanted is None or wanted.matches(str(path))) and not (unwanted and unwanted.matches(str(path))):
            found.append(_stat(path))
            if len(found) > MOST_FILES:
                raise _too_many(folder)
    if not found:
        raise NotFound(
            f"No file found in '{folder}' with includeFileNamePattern {include or 'not set'}"
            f" and excludeFileNamePattern {exclude or 'not set'}.",
            remedy="Patterns match the whole path: begin them with glob:**/.",
            field="includeFileNamePattern" if include else "inputDirURI",
        )
    return sorted(found, key=lambda f: f.path)


def _too_many(folder: Path) -> PayloadTooLarge:
    text = f"More than {MOST_FILES:,} files of '{folder}' match."
    return PayloadTooLarge(text, remedy="Narrow includeFileNamePattern, or push folder by folder.", field="inputDirURI")


def check_unchanged(file: InputFile) -> None:
    """Raises StateConflict naming the file when it is gone or no longer the one that was listed."""
    try:
        now = _stat(Path(file.path))
    except OSError as error:
        raise StateConflict(
            f"Input file '{file.path}' is gone: {error.strerror}.", remedy="Restore it and push again."
        ) from error
    if now != file:
        raise StateConflict(
            f"Input file '{file.path}' changed during the push ({file.size} bytes then, {now.size} now).",
            remedy="Push again when nothing writes to it.",
        )


def _walk(folder: Path, recursive: bool, roots: Sequence[Path]) -> Iterator[Path]:
    try:
        for place, folders, names in os.walk(folder):
            folders[:] = sorted(f for f in folders if not f.startswith(".")) if recursive else []
            for name in names:
                path = Path(place) / name
                if name.startswith(".") or not path.is_file():
                    continue
                if path.is_symlink() and not any(path.resolve().is_relative_to(r) for r in roots):
                    continue
                yield path
    except OSError as error:
        raise InvalidInput(
            f"Folder '{folder}' can not be listed: {error.strerror}.", remedy="Check its permissions."
        ) from error


def _stat(path: Path) -> InputFile:
    stat = path.stat()
    return InputFile(str(path), stat.st_size, stat.st_mtime_ns)
