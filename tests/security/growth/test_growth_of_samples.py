"""What a file is guessed to be costs time that grows with its beginning: names of columns, and where records end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from segments.console.presenters.queries.answer import Column
from segments.console.presenters.queries.files import unique_names
from segments.domain.tables.design.given_names import plain_names
from segments.spark.reading.sample.head import whole_records
from tests.security.growth.timing import grows_at_most_linearly

READS: dict[str, Callable[[str], object]] = {
    "names of columns": lambda text: plain_names(text.split(",")),
    "names of an answer's columns": lambda text: unique_names([Column(n, "INT") for n in text.split(",")]),
    "whole records": lambda text: whole_records(text.encode(), '"'),
}
PARTS = {"names of columns": "a,", "names of an answer's columns": "k,", "whole records": '""\n'}


@pytest.mark.parametrize("what", READS)
def test_a_sample_is_read_in_linear_time(what: str) -> None:
    begin = '"' if what == "whole records" else ""
    assert grows_at_most_linearly(READS[what], lambda n: begin + PARTS[what] * n, 20_000) == ""


def test_names_that_are_there_twice_are_numbered() -> None:
    assert plain_names(["a", "A", "a_2", "a", ""]) == ["a", "A_2", "a_2_2", "a_3", "column_5"]


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ('a\n"b\nc', "a\n"),
        ('a\n"b\nc"\nd', 'a\n"b\nc"\n'),
        ('"a\nb\nc', ""),
        ('x\n"a\n"\n"b\nc\nd', 'x\n"a\n"\n'),
        ("", ""),
    ],
)
def test_a_record_is_not_cut_within_quotes(text: str, whole: str) -> None:
    assert whole_records(text.encode(), '"') == whole.encode()
    assert whole_records(text.encode(), None) == text.encode()[: text.rfind("\n") + 1]
