"""Names, patterns and plans: golden cases of Pinot's generators and matchers, and cuts that lose no row."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segments.domain.push.path_pattern import parse_pattern
from segments.domain.push.push_plan import (
    InputFile,
    Step,
    must_revert,
    next_step,
    part_from_json,
    parts_by_file,
    parts_by_rows,
    still_to_build,
)
from segments.domain.push.sequence_ids import GLOBAL, LOCAL, counts_over_all, numbered
from segments.domain.replacement.lineage import Entry, State
from segments.domain.segments.segment_names import Facts, make_rule, segment_name
from segments.errors import InvalidInput

DAY_MS = 86_400_000


def rule(
    kind: str | None = None,
    table: str = "myTable_OFFLINE",
    *,
    start_ms: int | None = None,
    append: bool = False,
    **more: Any,
) -> Any:
    return make_rule(
        kind,
        table,
        more.get("configs", {}),
        start_ms=start_ms,
        is_append=append,
        frequency=more.get("frequency", "DAILY"),
        has_time=more.get("has_time", False),
        seed=more.get("seed", ""),
    )


def test_a_consistent_push_names_its_segments_by_its_start() -> None:
    assert segment_name(rule(start_ms=1_756_000_000_000), Facts(0, "/a.csv")) == "myTable_OFFLINE_1756000000000_0"
    assert (
        segment_name(rule(start_ms=5, configs={"segment.name.postfix": "x"}), Facts(3, "/a.csv"))
        == "myTable_OFFLINE_x_5_3"
    )


def test_times_that_are_text_with_slashes_and_colons_name_segments() -> None:
    facts = Facts(0, "/a.csv", "01/02/2024 00:00", "31, 12/2024", 1, 2)
    assert segment_name(rule(has_time=True), facts) == "myTable_OFFLINE_01-02-2024 00-00_31- 12-2024_0"


def test_simple_names_hold_the_time_unless_excluded() -> None:
    facts = Facts(1, "/a.csv", 17000, 17003)
    assert segment_name(rule(has_time=True), facts) == "myTable_OFFLINE_17000_17003_1"
    assert (
        segment_name(rule(has_time=True, configs={"exclude.time.in.segment.name": "true"}), facts)
        == "myTable_OFFLINE_1"
    )


@pytest.mark.parametrize(
    ("frequency", "configs", "append", "name"),
    [
        ("DAILY", {}, True, "myTable_1970-01-02_1970-01-04_1"),
        ("hourly", {}, True, "myTable_1970-01-02-00_1970-01-04-00_1"),
        (
            "DAILY",
            {"segment.name.prefix": "myTable_daily  ", "segment.name.postfix": "myPostfix  "},
            False,
            "myTable_daily_myPostfix_1",
        ),
        ("DAILY", {"exclude.sequence.id": "true"}, False, "myTable"),
    ],
)
def test_normalized_dates_as_pinot_writes_them(
    frequency: str, configs: dict[str, str], append: bool, name: str
) -> None:
    facts = Facts(1, "/a.csv", 1, 3, DAY_MS, 3 * DAY_MS)
    assert (
        segment_name(rule("normalizedDate", "myTable", append=append, configs=configs, frequency=frequency), facts)
        == name
    )


def test_normalized_dates_of_an_append_table_need_times() -> None:
    with pytest.raises(InvalidInput, match="Missing minTimeValue for normalizedDate"):
        segment_name(rule("normalizedDate", append=True), Facts(1, "/a.csv"))


def test_names_by_input_file() -> None:
    configs = {
        "file.path.pattern": r".*/(\d{4})/(\w+)\.csv",
        "segment.name.template": r"s_${filePathPattern:\1}_${filePathPattern:\2}",
    }
    assert segment_name(rule("inputFile", configs=configs), Facts(0, "/in/2009/input.csv")) == "s_2009_input"
    assert segment_name(rule("inputFile", configs=configs), Facts(0, "/in/x.csv")) == "in_x_csv"


def test_a_template_that_names_a_missing_group_is_refused_before_the_push() -> None:
    with pytest.raises(InvalidInput, match=r"group 2, but 'file\.path\.pattern' has 1"):
        rule("inputFile", configs={"file.path.pattern": "(.*)", "segment.name.template": r"${filePathPattern:\2}"})


@pytest.mark.parametrize("pattern", ["(", r"(a)\1", "(?=a)b", "a++", "[a-z&&[^b]]"])
def test_what_only_javas_patterns_know_is_refused_with_the_reason(pattern: str) -> None:
    with pytest.raises(InvalidInput, match=r"'file.path.pattern' that cannot be used.* Patterns are run by RE2"):
        rule("inputFile", configs={"file.path.pattern": pattern, "segment.name.template": "x"})


@pytest.mark.parametrize("kind", ["fixed", "inputFile"])
def test_names_without_postfix_are_refused_for_a_consistent_push(kind: str) -> None:
    configs = {"segment.name": "x", "file.path.pattern": ".*", "segment.name.template": "x"}
    assert segment_name(rule(kind, configs=configs), Facts(0, "/a")) == "x"
    with pytest.raises(InvalidInput, match="same names"):
        rule(kind, start_ms=1, configs=configs)


@pytest.mark.parametrize(
    ("kind", "start"), [("simple", "myTable_OFFLINE_0_"), ("normalizedDate", "myTable_OFFLINE_0_")]
)
def test_a_uuid_is_the_same_within_a_push_and_another_for_another_push_or_file(kind: str, start: str) -> None:
    configs = {"append.uuid.to.segment.name": "true"}
    names = [
        segment_name(rule(kind, configs=configs, seed=seed), Facts(0, path))
        for seed, path in (("5", "/a.csv"), ("5", "/a.csv"), ("6", "/a.csv"), ("5", "/b.csv"))
    ]
    assert names[0] == names[1]
    assert len(set(names)) == 3
    assert all(n.startswith(start) and str(UUID(n.removeprefix(start))) == n.removeprefix(start) for n in names)


def test_forbidden_names_are_refused() -> None:
    with pytest.raises(InvalidInput, match="not allowed"):
        segment_name(rule("fixed", configs={"segment.name": "a,b"}), Facts(0, "/a"))


@pytest.mark.parametrize(
    ("pattern", "matching"),
    [
        ("glob:/in/**.csv", ["/in/input.csv", "/in/2009/input.csv"]),
        ("glob:/in/*.csv", ["/in/input.csv"]),
        ("glob:**/2009/*.csv", ["/in/2009/input.csv"]),
        ("glob:**/*.{csv,json}", ["/in/input.csv", "/in/2009/input.csv", "/in/x.json"]),
        ("glob:/in/[!i]*", ["/in/x.json"]),
        ("glob:/in/?.json", ["/in/x.json"]),
        ("glob:/in[.-0]x.json", []),
        ("glob:/in/[x-]*.json", ["/in/x.json"]),
        ("glob:/in/[!.-0]*.json", ["/in/x.json"]),
        ("regex:.*/input\\.csv", ["/in/input.csv", "/in/2009/input.csv"]),
        ("glob:*.csv", []),
    ],
)
def test_patterns_match_whole_paths_as_in_java(pattern: str, matching: list[str]) -> None:
    paths = ["/in/input.csv", "/in/2009/input.csv", "/in/x.json"]
    assert [p for p in paths if parse_pattern(pattern).matches(p)] == matching


@pytest.mark.parametrize(
    "pattern",
    [
        "*.csv",
        "glob:{a",
        "glob:[a",
        "glob:a\\",
        "glob:{a{b}}",
        "regex:(",
        "glob:[z-a]",
        "glob:[a/]",
        "glob:" + "a" * 999,
    ],
)
def test_patterns_that_java_refuses_are_refused(pattern: str) -> None:
    with pytest.raises(InvalidInput, match="is not a file name pattern"):
        parse_pattern(pattern)


@pytest.mark.parametrize(
    ("configs", "is_global"),
    [
        (None, False),
        ({}, False),
        ({GLOBAL: "True"}, True),
        ({GLOBAL: "FALSE"}, False),
        ({LOCAL: "TRUE"}, False),
        ({LOCAL: "False"}, True),
        ({GLOBAL: "false", LOCAL: "false"}, False),
        ({GLOBAL: "true", LOCAL: "true"}, True),
    ],
)
def test_the_flag_of_global_sequence_ids_is_read_as_pinot_reads_it(
    configs: dict[str, str] | None, is_global: bool
) -> None:
    assert counts_over_all(configs) is is_global


@pytest.mark.parametrize(
    ("configs", "sequences"),
    [
        ({}, [0, 1, 2, 3]),  # ours: no two segments get one name
        ({GLOBAL: "true"}, [0, 1, 2, 3]),
        ({LOCAL: "false"}, [0, 1, 2, 3]),
        ({GLOBAL: "false"}, [0, 1, 0, 1]),
        ({LOCAL: "true"}, [0, 1, 0, 1]),
    ],
)
def test_sequence_ids_count_over_all_folders_or_within_each(configs: dict[str, str], sequences: list[int]) -> None:
    paths = ("/in/2009/a.csv", "/in/2009/b.csv", "/in/2010/a.csv", "/in/2010/b.csv")
    parts = numbered(parts_by_file([InputFile(path, 1, 1) for path in paths]), configs)
    assert [p.sequence for p in parts] == sequences
    assert [p.source for p in parts] == list(paths)
    assert [p.ordinal for p in parts] == [0, 1, 2, 3]


def test_files_of_two_folders_never_share_a_sequence_id() -> None:
    parts = parts_by_file([InputFile("/in/2010/a.csv", 1, 1), InputFile("/in/2009/a.csv", 1, 1)])
    assert [(p.sequence, p.source) for p in parts] == [(0, "/in/2009/a.csv"), (1, "/in/2010/a.csv")]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8), st.integers(1, 40))
def test_cutting_by_rows_takes_every_row_once_in_order(rows: list[int], target: int) -> None:
    files = [InputFile(f"/in/{i}.csv", 1, 1) for i in range(len(rows))]
    parts = parts_by_rows(files, {f.path: n for f, n in zip(files, rows, strict=True)}, target)
    taken = [(p.file.path, r) for part in parts for p in part.pieces for r in range(p.start, p.stop or 0)]
    assert taken == [(f.path, r) for f, n in zip(files, rows, strict=True) for r in range(n)]
    sizes = [sum((p.stop or 0) - p.start for p in part.pieces) for part in parts]
    assert all(s == target for s in sizes[:-1])
    assert [part_from_json(p.to_json()) for p in parts] == parts
    assert still_to_build(parts, {0}) == parts[1:]


@pytest.mark.parametrize(
    ("state", "started", "step"),
    [
        (None, False, Step.START),
        (None, True, Step.GIVE_UP),
        (State.IN_PROGRESS, False, Step.UPLOAD),
        (State.IN_PROGRESS, True, Step.UPLOAD),
        (State.COMPLETED, True, Step.NOTHING),
        (State.REVERTED, True, Step.GIVE_UP),
    ],
)
def test_the_next_step_follows_from_the_entry(state: State | None, started: bool, step: Step) -> None:
    entry = Entry("e", (), ("a",), state, 1) if state else None
    assert next_step(entry, started=started) is step
    assert must_revert(entry) is (state is State.IN_PROGRESS)
