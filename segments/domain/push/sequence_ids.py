"""Sequence ids of segments as Pinot's ingestion job counts them: within each folder, or over all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from segments.domain.push.push_plan import Part

#: Keys of ``segmentNameGeneratorSpec.configs``; the second is deprecated, and says the opposite.
GLOBAL: Final = "use.global.directory.sequence.id"
LOCAL: Final = "local.directory.sequence.id"


def counts_over_all(configs: Mapping[str, str] | None) -> bool:
    """Pinot's flag: do ids count over all folders? Without either key they do not."""
    given = configs or {}
    if GLOBAL in given:
        return _is_true(given[GLOBAL])
    return LOCAL in given and not _is_true(given[LOCAL])


def numbered(parts: Sequence[Part], configs: Mapping[str, str] | None) -> list[Part]:
    """The parts, in the order of their paths, with the sequence ids that the flag asks for.

    A specification with neither key gets ids over all folders, too: with one folder, the usual case, both are the same,
    and with several Pinot would give segments of two folders one name, of which one is lost. One that asks for ids
    within each folder gets them.
    """
    given = configs or {}
    if counts_over_all(given) or not (GLOBAL in given or LOCAL in given):
        return [replace(part, sequence=number) for number, part in enumerate(parts)]
    seen: Counter[str] = Counter()
    found = []
    for part in parts:
        folder = part.pieces[0].file.path.rpartition("/")[0]
        found.append(replace(part, sequence=seen[folder]))
        seen[folder] += 1
    return found


def _is_true(text: str) -> bool:
    return text.strip().lower() == "true"
