"""Which files of a folder are input: by pattern, by depth, never hidden ones, and not more than one load can hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from segments.domain.push.path_pattern import parse_pattern
from segments.domain.push.push_plan import InputFile
from segments.errors import NotFound, PayloadTooLarge

#: Files of one load: its plan names every one of them.
MOST_FILES: Final = 100_000


@dataclass(frozen=True)
class Choice:
    """``include`` and ``exclude`` are Java's path patterns, matched against the whole path; ``most`` None: as many as
    ``MOST_FILES``.
    """

    recursive: bool = True
    include: str | None = None
    exclude: str | None = None
    most: int | None = None

    def chosen(self, folder: str, found: Iterable[InputFile]) -> list[InputFile]:
        """Those of ``found`` that match, sorted by path. Raises InvalidInput for a pattern that is none,
        PayloadTooLarge for too many.
        """
        wanted = parse_pattern(self.include) if self.include else None
        unwanted = parse_pattern(self.exclude) if self.exclude else None
        most = MOST_FILES if self.most is None else self.most
        kept: list[InputFile] = []
        for file in found:
            spellings = {file.path, file.path.replace("://", ":/", 1)}  # Java's paths have one slash there
            if wanted is not None and not any(wanted.matches(s) for s in spellings):
                continue
            if unwanted is not None and any(unwanted.matches(s) for s in spellings):
                continue
            kept.append(file)
            if len(kept) > most:
                raise PayloadTooLarge(
                    f"More than {most:,} files of '{folder}' match.",
                    remedy="Narrow includeFileNamePattern, or push folder by folder.",
                    field="inputDirURI",
                )
        return sorted(kept, key=lambda f: f.path)

    def none_found(self, folder: str) -> NotFound:
        """The error where no file matches."""
        return NotFound(
            f"No file found in '{folder}' with includeFileNamePattern {self.include or 'not set'}"
            f" and excludeFileNamePattern {self.exclude or 'not set'}.",
            remedy="Patterns match the whole path: begin them with glob:**/.",
            field="includeFileNamePattern" if self.include else "inputDirURI",
        )
