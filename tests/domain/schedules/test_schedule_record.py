"""Records of schedules: a due moment is taken up once; the last starts are kept."""

from __future__ import annotations

import json

from segments.domain.schedules.schedule_record import ScheduleRecord, Stop, record_from_json


def test_a_due_moment_is_taken_up_once_and_no_earlier_one_after_it() -> None:
    record = ScheduleRecord("t_OFFLINE").taken(1000)
    assert record is not None
    assert record.taken(1000) is None
    assert record.taken(999) is None
    later = record.taken(2000)
    assert later is not None
    assert later.given_back(1000) is None


def test_a_moment_that_was_given_back_can_be_taken_up_again() -> None:
    record = ScheduleRecord("t_OFFLINE", 1000).given_back(1000)
    assert record is not None
    again = record.taken(1000)
    assert again is not None
    assert again.taken_ms == 1000


def test_the_last_five_starts_of_each_outcome_are_kept() -> None:
    record = ScheduleRecord("t_OFFLINE")
    for at in range(7):
        record = record.noted(at).noted(at, "x" * 5000)
    assert record.started == (2, 3, 4, 5, 6)
    assert [at for at, _ in record.failed] == [2, 3, 4, 5, 6]
    assert max(len(why) for _, why in record.failed) == 1000


def test_a_record_comes_back_as_it_was_written() -> None:
    record = ScheduleRecord("t_OFFLINE", 5, Stop("ann", "because", 7), (1, 2), ((3, "no"),))
    assert record_from_json("t_OFFLINE", json.loads(json.dumps(record.to_json()))) == record
