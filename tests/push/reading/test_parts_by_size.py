"""Small files share a part, big ones are cut, and the same files always give the same parts."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segments.domain.push.parts_by_size import files_to_cut, parts_by_size, unpacked_size
from segments.domain.push.push_plan import InputFile, Part, Piece, Unit, part_from_json


def file(path: str, size: int) -> InputFile:
    return InputFile(path, size, 1)


def paths(parts: list[Part]) -> list[list[str]]:
    return [[p.file.path for p in part.pieces] for part in parts]


def test_small_files_share_a_part_up_to_its_size_and_number() -> None:
    files = [file(name, 40) for name in "edcba"]
    assert paths(parts_by_size(files, "csv", 100)) == [["a", "b"], ["c", "d"], ["e"]]
    assert paths(parts_by_size(files, "csv", 1000, most_files=3)) == [["a", "b", "c"], ["d", "e"]]
    assert paths(parts_by_size(files, "csv", 1000, most_files=1)) == [[name] for name in "abcde"]


def test_a_file_that_is_cut_shares_no_part() -> None:
    big = file("b", 250)
    cut = [Piece(big, 0, 120, Unit.BYTES, 120), Piece(big, 120, None, Unit.BYTES, 130)]
    parts = parts_by_size([file("a", 10), big, file("c", 10)], "csv", 125, cuts={"b": cut})
    assert [part.pieces for part in parts[:2]] == [(cut[0],), (cut[1],)]
    assert paths(parts[2:]) == [["a", "c"]]
    assert [(p.ordinal, p.sequence) for p in parts] == [(i, i) for i in range(3)]
    assert [part_from_json(p.to_json()) for p in parts] == parts
    assert parts[0].source == "b bytes 1-120"


def test_compressed_files_count_as_what_they_hold() -> None:
    assert unpacked_size(file("a.csv.gz", 100), "csv") == 600
    assert unpacked_size(file("a.parquet", 100), "parquet") == 300
    assert files_to_cut([file("a.csv", 200), file("b.csv.gz", 20), file("c.csv", 20)], "csv", 90) == [
        file("a.csv", 200),
        file("b.csv.gz", 20),
    ]
    assert files_to_cut([file("a.csv.gz", 10), file("b.csv.gz", 2)], "csv", 100) == [file("a.csv.gz", 10)]


def test_a_part_as_an_earlier_version_wrote_it_is_read() -> None:
    body = {"ordinal": 1, "sequence": 1, "pieces": [{"file": {"path": "a", "size": 5, "mtime_ns": 1}, "start": 0}]}
    body["pieces"][0]["stop"] = None  # type: ignore[index]
    assert part_from_json(body).pieces == (Piece(file("a", 5)),)


@pytest.mark.parametrize(("target", "most"), [(0, 1), (1, 0)])
def test_a_part_of_nothing_is_refused(target: int, most: int) -> None:
    with pytest.raises(ValueError, match="at least one"):
        parts_by_size([], "csv", target, most_files=most)


@given(st.lists(st.integers(0, 300), max_size=40), st.integers(1, 200), st.integers(1, 5))
def test_every_file_is_in_one_part_and_the_order_of_the_listing_does_not_matter(
    sizes: list[int], target: int, most: int
) -> None:
    files = [file(f"{i:03d}", size) for i, size in enumerate(sizes)]
    parts = parts_by_size(files, "csv", target, most_files=most)
    assert [p.file for part in parts for p in part.pieces] == files
    assert all(len(part.pieces) <= most for part in parts)
    assert all(part.weight <= target or len(part.pieces) == 1 or part.pieces[0].weight == 0 for part in parts)
    random.Random(len(sizes)).shuffle(files)
    assert parts_by_size(files, "csv", target, most_files=most) == parts
