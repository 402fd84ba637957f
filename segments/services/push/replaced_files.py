"""Input files that were replaced while a push read them: read again as they are now, a bounded number of times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from segments.domain.push.parts_by_size import MOST_BYTES, files_to_cut
from segments.domain.push.push_plan import InputFile
from segments.errors import InvalidInput
from segments.gateways.input_files.access import access_from_json
from segments.gateways.input_files.source import input_source
from segments.services.push.push_session import Session
from segments.spark.build_part import Failed

#: How often an attempt reads a file that is replaced each time while it is read.
READS: Final = 3


class ReplacedFiles:
    """Those of one attempt. A file of which other parts may be staged by its old version is not read again."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._reads: Counter[str] = Counter()
        self._waiting: list[str] = []

    def take(self, failed: Sequence[Failed]) -> None:
        """Note which are to be read again. Raises InvalidInput for the first part that is not."""
        for one in failed:
            self._reads[one.file] += 1
            if not one.is_changed or not self._is_one_segment(one.file):
                raise one.refusal()
            if self._reads[one.file] >= READS:
                raise InvalidInput(f"{one.error} It was read {READS} times, and changed each time.", remedy=one.remedy)
            self._waiting.append(one.file)

    def freeze_again(self, access: dict[str, Any]) -> bool:
        """Write these files into the plan as they are now; False when there are none. Raises NotFound for one that is
        gone, InvalidInput for one that one segment no longer holds.
        """
        if not self._waiting:
            return False
        source, plan = input_source(access_from_json(access)), self._session.push.plan
        found = {path: source.stat(path) for path in self._waiting}
        self._waiting = []
        large = files_to_cut(list(found.values()), plan["reader"]["format"], MOST_BYTES)
        if large:
            raise InvalidInput(
                f"Input file '{large[0].path}' was replaced by one that needs several segments.", remedy="Push again."
            )
        self._session.save_plan(
            files=[_now(file, found) for file in plan["files"]],
            parts=[
                {**part, "pieces": [{**piece, "file": _now(piece["file"], found)} for piece in part["pieces"]]}
                for part in plan["parts"]
            ],
        )
        return True

    def _is_one_segment(self, path: str) -> bool:
        """Is the file whole in one part, which has nothing else?"""
        pieces = [p["pieces"] for p in self._session.push.plan["parts"] if any(_is_of(i, path) for i in p["pieces"])]
        return len(pieces) == 1 and len(pieces[0]) == 1 and not pieces[0][0]["start"] and pieces[0][0]["stop"] is None


def _is_of(piece: dict[str, Any], path: str) -> bool:
    return bool(piece["file"]["path"] == path)


def _now(file: dict[str, Any], found: dict[str, InputFile]) -> dict[str, Any]:
    return asdict(found[file["path"]]) if file["path"] in found else file
