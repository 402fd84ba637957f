"""Recording, and what of it is shown: bounded labels, zeros of tables that exist, values of several processes."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from segments.metrics import metric_kinds as declared
from segments.metrics import servers
from segments.metrics.exposition import RecordedValues, render
from segments.metrics.metric_kinds import MOST_TABLES, OTHER, SERVER

FAILURES = "pinotadmin_segment_build_failures_total"


def shown(*tables: str) -> dict[str, float]:
    """{line without its value: value} of what a server with these tables shows."""
    page = render(RecordedValues([SERVER], lambda: [(table,) for table in tables])).decode()
    lines = (line.rpartition(" ") for line in page.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def test_a_counter_of_a_table_that_exists_begins_at_zero_and_of_a_realtime_one_only_where_it_can_grow() -> None:
    before = shown("fresh_REALTIME", "fresh_OFFLINE")
    assert before[FAILURES + '{table="fresh_REALTIME"}'] == 0.0
    assert FAILURES + '{table="fresh_OFFLINE"}' not in before
    servers.SEGMENT_BUILD_FAILURES.add("fresh_REALTIME")
    assert shown("fresh_REALTIME")[FAILURES + '{table="fresh_REALTIME"}'] == 1.0


def test_what_was_counted_of_a_table_that_is_gone_has_no_label_of_its_own_and_is_not_lost() -> None:
    before = shown("stays_REALTIME").get(FAILURES + '{table="other"}', 0.0)
    servers.SEGMENT_BUILD_FAILURES.add("gone1_REALTIME", by=2)
    servers.SEGMENT_BUILD_FAILURES.add("gone2_REALTIME")
    after = shown("stays_REALTIME")
    assert after[FAILURES + '{table="other"}'] == before + 3
    assert not [line for line in after if "gone" in line]


def test_tables_beyond_the_most_share_one_label(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declared, "_tables", {f"t{i}" for i in range(MOST_TABLES)})
    assert declared.bounded_table("t7") == "t7"
    assert declared.bounded_table("one_more") == OTHER


def test_histograms_of_tables_that_are_gone_are_added_up_bucket_by_bucket() -> None:
    line = 'pinotadmin_segment_build_seconds_bucket{le="0.5",table="other"}'
    before = shown().get(line, 0.0)
    servers.SEGMENT_BUILD_SECONDS.observe(0.3, "gone3_REALTIME")
    servers.SEGMENT_BUILD_SECONDS.observe(0.4, "gone4_REALTIME")
    assert shown()[line] == before + 2


def test_a_wrong_number_of_labels_is_an_error_of_the_caller() -> None:
    with pytest.raises(ValueError, match="zip"):
        servers.SEGMENT_BUILD_FAILURES.add()


def test_processes_that_share_a_folder_are_added_up_and_a_dead_one_still_counts(tmp_path: Path) -> None:
    """Each child records and ends; the last shows what all of them recorded."""
    environ = {**os.environ, declared.SHARED_FOLDER: str(tmp_path / "shared")}
    record = "from segments.metrics.servers import SEGMENT_BUILD_FAILURES as f; f.add('t_REALTIME')"
    show = (
        "from segments.metrics.exposition import RecordedValues, render;"
        "print(render(RecordedValues(['server'], lambda: [('t_REALTIME',)])).decode())"
    )
    for _ in range(3):
        subprocess.run([sys.executable, "-c", record], env=environ, check=True)
    page = subprocess.run([sys.executable, "-c", show], env=environ, check=True, capture_output=True, text=True).stdout
    assert FAILURES + '{table="t_REALTIME"} 3.0' in page.splitlines()


def test_recording_costs_less_than_ten_microseconds() -> None:
    """One count per batch of a stream's messages is no cost; the best of some tries, since other tests run beside."""
    import timeit

    best = min(timeit.repeat(lambda: servers.ROWS_CONSUMED.add("t_REALTIME", by=1000), number=2_000, repeat=5)) / 2_000
    assert best < 10e-6


def test_files_of_many_processes_that_are_gone_are_folded_into_one_and_nothing_is_lost(tmp_path: Path) -> None:
    """A hundred dead workers, made in one child by changing what it takes for its process id."""
    folder = tmp_path / "shared"
    environ = {**os.environ, declared.SHARED_FOLDER: str(folder)}
    work = (
        "import os; real = os.getpid()\n"
        "from prometheus_client import values\n"
        "pid = [0]\n"
        "values.ValueClass = values.MultiProcessValue(lambda: pid[0])\n"
        "from prometheus_client import metrics; metrics.values.ValueClass = values.ValueClass\n"
        "from segments.metrics.servers import SEGMENT_BUILD_FAILURES as f, SEGMENT_BUILD_SECONDS as h\n"
        "from segments.metrics.exposition import RecordedValues, render\n"
        "for number in range(100):\n"
        "    pid[0] = 5_000_000 + number; f.add('t_REALTIME'); h.observe(0.3, 't_REALTIME')\n"
        "for _ in range(2):\n"
        "    print(render(RecordedValues(['server'], lambda: [('t_REALTIME',)])).decode())\n"
    )
    page = subprocess.run(
        [sys.executable, "-c", work], env=environ, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert page.count(FAILURES + '{table="t_REALTIME"} 100.0') == 2
    assert page.count('pinotadmin_segment_build_seconds_count{table="t_REALTIME"} 100.0') == 2
    assert len(list(folder.glob("*.db"))) <= 4
    assert {stat.S_IMODE(file.stat().st_mode) & 0o077 for file in (folder, *folder.iterdir())} == {0}
