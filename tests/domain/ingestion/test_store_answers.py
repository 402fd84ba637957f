"""When a store, and not a file, is at fault."""

from __future__ import annotations

from segments.domain.ingestion.store_answers import StoreAnswers


def test_a_file_is_tried_three_times() -> None:
    answers = StoreAnswers()
    assert [answers.is_tried_again("a") for _ in range(3)] == [True, True, False]


def test_a_file_that_is_replaced_each_time_is_read_three_times() -> None:
    answers = StoreAnswers()
    assert [answers.is_read_again("a") for _ in range(2)] == [True, True]
    assert not answers.has_changed_each_time("a")
    assert not answers.is_read_again("a")
    assert (answers.has_changed_each_time("a"), answers.has_changed_each_time("b")) == (True, False)


def test_several_files_and_nothing_given_is_the_store() -> None:
    answers = StoreAnswers(2)
    for uri in ("a", "b", "c"):
        answers.is_tried_again(uri)
    assert answers.at_fault_for_all == frozenset()
    answers.is_tried_again("a")
    assert answers.at_fault_for_all == frozenset(), "one file may be at fault itself"
    answers.is_tried_again("b")
    assert answers.at_fault_for_all == {"a", "b"}


def test_anything_given_makes_it_the_files() -> None:
    answers = StoreAnswers(1)
    answers.is_tried_again("a")
    answers.is_tried_again("b")
    answers.given()
    assert answers.at_fault_for_all == frozenset()
