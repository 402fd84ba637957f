"""How a run of the black-box suite against a real Pinot is judged: any outcome but the known one is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real_pinot.differences import DIFFERENCES, MAY, NOT_RUN, Outcomes, judge, known_differences, outcomes

REPORT = """<?xml version="1.0"?><testsuites><testsuite>
<testcase classname="test_a" name="test_good"/>
<testcase classname="realtime.test_b" name="test_bad[x-1]"><failure message="no"/></testcase>
<testcase classname="realtime.test_b" name="test_setup"><error message="no"/></testcase>
<testcase classname="test_a" name="test_left"><skipped/></testcase>
<testcase classname="test_a" name="test_end"/>
<testcase classname="test_a" name="test_end"><error message="at its end"/></testcase>
</testsuite></testsuites>"""

FILE = """
[both."test_a.py"]
test_one = "0.11.0 cannot"
[direct."test_a.py"]
test_two = "may: its timing"
[through."test_a.py"]
"test_three*" = "we cannot"
[direct."test_b.py"]
test_other = "another file"
"""


def seen(passed: str = "", failed: str = "") -> Outcomes:
    names = [frozenset(f"test_a.py::{name}" for name in listed.split()) for listed in (passed, failed)]
    return Outcomes(*names)


def judged(found: Outcomes, known: dict[str, str], *, is_whole: bool = True) -> list[str]:
    return judge(found, {f"test_a.py::{name}": why for name, why in known.items()}, is_whole=is_whole)


def test_a_report_is_read_by_file_and_test_and_an_error_at_the_end_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(REPORT)
    found = outcomes(tmp_path / "report.xml")
    assert found.passed == {"test_a.py::test_good"}
    assert found.failed == {
        "realtime/test_b.py::test_bad[x-1]",
        "realtime/test_b.py::test_setup",
        "test_a.py::test_end",
    }
    assert found.skipped == {"test_a.py::test_left"}
    assert found + seen("test_x") == Outcomes(found.passed | {"test_a.py::test_x"}, found.failed, found.skipped)


def test_each_way_has_its_own_differences_and_those_of_both(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(FILE)
    assert known_differences("direct", "test_a.py", path) == {
        "test_a.py::test_one": "0.11.0 cannot", "test_a.py::test_two": "may: its timing",
    }  # fmt: skip
    assert known_differences("through", "test_a.py", path) == {
        "test_a.py::test_one": "0.11.0 cannot", "test_a.py::test_three*": "we cannot",
    }  # fmt: skip
    path.write_text(FILE.replace("[through.", "[trough."))
    with pytest.raises(AssertionError, match="trough"):
        known_differences("direct", "test_a.py", path)


def test_what_is_as_it_is_known_to_be_is_not_reported() -> None:
    known = {
        "test_one": "it cannot",
        "test_two": f"{MAY} its timing",
        "test_three": f"{MAY} its timing",
        "test_four*": "nor these",
    }
    assert judged(seen("test_good test_two", "test_one test_three test_four[1] test_four[2]"), known) == []


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (seen("test_one", "test_two[1]"), "test_one passes, but is known to differ: it cannot"),
        (seen("test_two[1]", "test_one test_two[2]"), "test_two[1] passes, but is known to differ: nor these"),
        (seen("", "test_one test_two[1] test_new"), "test_new fails, which is not a known difference"),
        (seen("", "test_one"), "test_two* met no test that ran, but is known to differ"),
        (seen("", "test_two[1]"), "test_one met no test that ran, but is known to differ"),
    ],
)
def test_any_other_outcome_is_reported_by_name(found: Outcomes, told: str) -> None:
    assert judged(found, {"test_one": "it cannot", "test_two*": "nor these"}) == [f"test_a.py::{told}"]


def test_a_tests_own_reason_counts_before_that_of_its_beginning() -> None:
    known = {"test_two*": "these cannot", "test_two[1]": f"{MAY} this one"}
    assert judged(seen("test_two[1]", "test_two[2]"), known) == []
    assert judged(seen("test_two[1] test_two[2]"), known) != []


def test_a_run_of_some_tests_says_nothing_of_the_others() -> None:
    assert judged(seen("test_good"), {"test_one": "it cannot"}, is_whole=False) == []
    assert judged(seen("test_one"), {"test_one": "it cannot"}, is_whole=False) != []


def test_the_known_differences_are_few_enough_to_read_and_each_says_why() -> None:
    for way in ("direct", "through"):
        for file in ("test_lineage.py", "test_tables.py", "test_upload_delete.py", "realtime/test_pause.py"):
            for test, why in known_differences(way, file).items():  # type: ignore[arg-type]  # both words are ways
                assert len(why.removeprefix(MAY).removeprefix(NOT_RUN).split()) >= 3, test
    assert DIFFERENCES.read_text().count(f'"{MAY}') <= 14
