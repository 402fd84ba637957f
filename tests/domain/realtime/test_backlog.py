"""What waits in a partition, decided from samples: rates, growth, loss, expiry; and what a stream says it keeps."""

from __future__ import annotations

import pytest

from segments.domain.formats.durations import in_words
from segments.domain.realtime import backlog
from segments.domain.realtime.backlog import EXPIRING, LOST, Progress, Unread
from segments.domain.realtime.streams.retention import Retention, unknown
from segments.gateways.streams.kafka_retention import retention_of

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("before", "now", "committed", "rate"),
    [
        (Progress(0, 3, 100), Progress(60, 3, 700), {}, 10.0),
        (Progress(0, 3, 900), Progress(60, 4, 100), {3: 1000}, 200 / 60),
        (Progress(0, 3, 900), Progress(60, 6, 0), {3: 1000, 4: 50, 5: 50}, 200 / 60),
        (Progress(0, 3, 900), Progress(60, 4, 100), {3: None}, None),  # not in the mirror yet
        (Progress(0, 3, 900), Progress(60, 3, 20), {}, None),  # a server began the segment again
        (Progress(0, 3, 900), Progress(900, 3, 1000), {}, None),  # too long ago
        (Progress(0, None, None), Progress(60, 3, 1000), {}, None),
        (Progress(0, 4, 5), Progress(60, 3, 1000), {}, None),  # the table was made again
    ],
)
def test_rows_per_second_count_what_was_committed_meanwhile(
    before: Progress, now: Progress, committed: dict[int, int | None], rate: float | None
) -> None:
    assert backlog.rows_per_second(before, now, committed) == pytest.approx(rate) if rate else rate is None


def test_growth_is_per_minute_and_needs_two_known_samples() -> None:
    assert backlog.growth_per_minute([(0, 100), (60, None), (120, 500)]) == 200
    assert backlog.growth_per_minute([(0, 500), (60, 100)]) == -400
    assert backlog.growth_per_minute([(0, None), (60, 100)]) is None


def test_time_to_catch_up_is_known_only_with_a_rate() -> None:
    assert backlog.catch_up_s(12_000, 200.0) == 60
    assert backlog.catch_up_s(0, None) == 0
    assert backlog.catch_up_s(12_000, None) is None
    assert backlog.catch_up_s(12_000, 0.0) is None
    assert backlog.catch_up_s(None, 5.0) is None


def test_what_waited_and_is_gone_was_lost() -> None:
    assert backlog.lost_unread(5, 100, 40) == 65
    assert backlog.lost_unread(None, 100, 40) is None


def found(unread: Unread, now_ms: int = 0) -> list[tuple[str, str]]:
    return [(f.code, f.severity) for f in backlog.findings("t_REALTIME", [unread], now_ms)]


def test_messages_that_expire_soon_are_a_warning_and_within_the_hour_an_error() -> None:
    day = 24 * HOUR
    assert found(Unread(0, 7, 1, 7 * HOUR, keeps_ms=day)) == []
    assert found(Unread(0, 7, 1, 5 * HOUR, keeps_ms=day)) == [(EXPIRING, "warning")]
    assert found(Unread(0, 7, 1, HOUR // 2, keeps_ms=day)) == [(EXPIRING, "error")]
    assert found(Unread(0, 7, 1, None)) == []


def test_a_stream_that_keeps_little_warns_only_when_half_of_it_is_over() -> None:
    assert found(Unread(0, 7, 1, 90 * 60_000, keeps_ms=2 * HOUR)) == []
    assert found(Unread(0, 7, 1, 59 * 60_000, keeps_ms=2 * HOUR)) == [(EXPIRING, "error")]


def test_messages_that_went_unread_are_an_error_with_their_number() -> None:
    assert found(Unread(0, 7, 1, 9 * HOUR, lost=3)) == [(LOST, "error")]
    assert found(Unread(0, 7, 1, 9 * HOUR, lost=None)) == [(LOST, "error")]
    text = backlog.findings("t_REALTIME", [Unread(2, 7, 1, None, lost=3)], 0)[0].message
    assert "3 messages of partition 2 left the stream of t_REALTIME before they were read. 7 wait." in text


def test_a_message_expires_when_the_stream_has_kept_it_for_its_time() -> None:
    assert Retention("time", 3 * HOUR).expires_ms(1000) == 3 * HOUR + 1000
    assert Retention("trimmed", HOUR).expires_ms(1000) == HOUR + 1000
    assert [Retention(kind).expires_ms(1000) for kind in ("forever", "untrimmed", "unknown")] == [None] * 3
    assert Retention("time", HOUR).expires_ms(0) is None  # nobody knows when it was stored
    assert (Retention("time", HOUR).is_exact, Retention("time", HOUR, 10).is_exact) == (True, False)


def test_a_stream_says_in_a_sentence_how_long_it_keeps_messages() -> None:
    assert Retention("time", 7 * 24 * HOUR, 1 << 30).sentence == (
        "The stream keeps messages for 7 days. Beyond 1,073,741,824 bytes of a partition the oldest go earlier."
    )
    assert unknown("its Kafka is shy.").sentence == "How long the stream keeps messages is not known: its Kafka is shy."
    assert "oldest message is 1 h 30 min old" in Retention("trimmed", 90 * 60_000).sentence


@pytest.mark.parametrize(
    ("settings", "kind", "ms", "size"),
    [
        ({"retention.ms": "604800000", "retention.bytes": "-1", "cleanup.policy": "delete"}, "time", 604_800_000, None),
        ({"retention.ms": "1000", "retention.bytes": "500"}, "time", 1000, 500),
        ({"retention.ms": "-1", "retention.bytes": "-1"}, "forever", None, None),
        ({"retention.ms": "-1", "retention.bytes": "500"}, "unknown", None, None),
        ({"retention.ms": "1000", "cleanup.policy": "compact"}, "unknown", None, None),
        ({"retention.ms": "1000", "cleanup.policy": "compact,delete"}, "time", 1000, None),
        ({}, "unknown", None, None),
    ],
)
def test_settings_of_a_kafka_topic_say_how_long_it_keeps_messages(
    settings: dict[str, str], kind: str, ms: int | None, size: int | None
) -> None:
    kept = retention_of(settings)
    assert (kept.kind, kept.ms, kept.size) == (kind, ms, size)


@pytest.mark.parametrize(
    ("ms", "words"),
    [(0, "0 ms"), (45_000, "45 s"), (90_000, "1 min 30 s"), (12 * 60_000, "12 min"), (3 * HOUR, "3 h"),
     (200 * 60_000, "3 h 20 min"), (30 * HOUR, "30 h"), (60 * HOUR, "2 days 12 h"), (30 * 24 * HOUR, "30 days")],
)  # fmt: skip
def test_periods_are_written_as_a_person_says_them(ms: int, words: str) -> None:
    assert in_words(ms) == words
