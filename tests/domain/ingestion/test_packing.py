"""How many files share a segment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from segments.domain.ingestion.packing import MANY_FILES, SMALL_BYTES, TOGETHER, files_per_segment
from segments.domain.ingestion.session import FileRecord, FileState, Fingerprint
from tests.domain.ingestion.model_table import task

APPEND = {"consistentPushEnabled": "true"}
SWAP = {"consistentPushSwapEnabled": "true"}


def of(number: int, size: int) -> list[FileRecord]:
    return [FileRecord(f"/in/{n}", Fingerprint(1, size)) for n in range(number)]


@pytest.mark.parametrize("keys", [APPEND, SWAP], ids=["append", "swap"])
def test_many_small_files_share_segments_and_others_have_their_own(keys: dict[str, Any]) -> None:
    assert files_per_segment(task(**keys), of(MANY_FILES, 10_000)) == TOGETHER
    assert files_per_segment(task(**keys), of(MANY_FILES - 1, 10_000)) == 1
    assert files_per_segment(task(**keys), of(MANY_FILES, SMALL_BYTES + 1)) == 1


def test_what_the_task_says_counts_first() -> None:
    assert files_per_segment(task(**APPEND, taskMaxNumFiles=1), of(10_000, 10_000)) == 1
    assert files_per_segment(task(**APPEND, taskMaxNumFiles=7), of(3, 10_000)) == 7
    assert files_per_segment(task(**APPEND, taskMaxNumFiles=-1), of(10_000, 10_000)) == TOGETHER


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {**APPEND, "ingestionMode": "SYNC"},
        {**APPEND, "modifiedFilePolicy": "replace"},
        {"ingestionMode": "SYNC", "enableAtomicUpload": "true"},
    ],
    ids=["one by one", "sync", "replace", "atomic"],
)
def test_a_file_that_may_be_replaced_alone_has_segments_of_its_own(keys: dict[str, Any]) -> None:
    assert files_per_segment(task(**keys, taskMaxNumFiles=7), of(10_000, 10_000)) == 1


def test_files_that_left_the_folder_do_not_count() -> None:
    files = of(MANY_FILES, 10_000)
    files[0] = replace(files[0], state=FileState.DROPPED)
    assert files_per_segment(task(**APPEND), files) == 1
