"""Nonsense at every address around replacements, checks and deleted segments: always a refusal with a cause, never a
fault of ours.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import URLPattern

from segments import wiring
from segments.api.base import ApiView
from segments.api.replacement import checks, lineage
from segments.api.replacement import protocol as replacement
from segments.api.segments import segment_archive, segment_uploads, segments
from segments.api.urls import urlpatterns
from segments.services.segments import archive, deletion
from tests.api.cluster import TABLE, ApiCluster
from tests.api.replacement.test_lineage import FakeServers, start

MODULES = (lineage, checks, segment_archive, replacement, segments, segment_uploads)
DEEP: Any = json.loads("[" * 60 + "]" * 60)
LONE_SURROGATE = "\ud800"
WORDS = [
    "",
    " ",
    "0",
    "-1",
    "1e9",
    "999999999999999999999999",
    "nope",
    "äöü",
    "a,b",
    "..",
    "%2e%2e",
    "\x00",
    "a\nb",
    "'",
    '"',
    "x" * 3000,
]
NOTHINGS: list[Any] = [
    None,
    0,
    -1,
    True,
    "x",
    "",
    [],
    [None],
    [1],
    [[]],
    [{}],
    ["a,b"],
    [""],
    ["a", "a"],
    {},
    {"a": {}},
    {"a": DEEP},
    DEEP,
    LONE_SURROGATE,
    [LONE_SURROGATE],
    ["\x00"],
    ["../x"],
    1e308,
    10**40,
]
NO_CHECKS: list[Any] = [
    None,
    1,
    [],
    {"kind": None},
    {"kind": []},
    {"kind": "sql", "sql": None, "expect": "= 1"},
    {"kind": "sql", "sql": "x", "expect": []},
    {"kind": "sql", "sql": "select 1 from t where (((", "expect": "= 1"},
    {"kind": "sql", "sql": "\x00", "expect": "= 1"},
    {"kind": "rowCount", "min": 10**400},
    {"kind": "rowCount", "minRatio": "x"},
    {"kind": "rowCount", "min": True},
    {"kind": "nullShare", "column": [], "max": 0},
    {"kind": "nullShare", "column": "v", "max": 1e308},
    {"kind": "uniqueKey", "columns": [[]]},
    {"kind": "uniqueKey", "columns": ["v"] * 3},
    {"kind": "time", "notBefore": "9" * 400},
    {"kind": "time", "maxAge": "1e9d"},
    {"kind": "time", "notBefore": "-99999999999999d"},
    {"kind": "rowCount", "min": 1, "name": LONE_SURROGATE},
]
BODIES: list[str | bytes] = [
    b"",
    b" ",
    b"null",
    b"0",
    b'"x"',
    b"[]",
    b"{}",
    b"{",
    b"[1]",
    b"\xff\xfe",
    b'{"a":NaN}',
    b'"\\ud800"',
    b"\x00",
    b"[" * 100_000,
    *(
        json.dumps({key: value})
        for key in (
            "segments",
            "segmentsFrom",
            "segmentsTo",
            "customMap",
            "checks",
            "timeoutMs",
            "reason",
            "retention",
            "dryRun",
        )
        for value in NOTHINGS
    ),
    json.dumps({"segmentsFrom": ["a"], "segmentsTo": ["a"]}),
    json.dumps({"segmentsFrom": [], "segmentsTo": ["x" * 3000]}),
    json.dumps({"segmentsFrom": [], "segmentsTo": ["n" + LONE_SURROGATE]}),
    json.dumps({"segmentsTo": ["n"], "customMap": {"pinotadmin.declaredBytes": "٣"}}),
    json.dumps({"segmentsTo": ["n"], "customMap": {"pinotadmin.declaredRows": "9" * 40}}),
    json.dumps({"segments": ["a"], "retention": "-3d"}),
    json.dumps({"segments": ["a"], "retention": "9" * 30 + "d"}),
    *(json.dumps({"checks": [check]}) for check in NO_CHECKS),
]


def addresses() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(method, path with <table>, <entry> ..., query parameters) of every address of these modules."""
    for found in _patterns(urlpatterns):
        view = getattr(found.callback, "view_class", None) or getattr(found.callback, "cls", None)
        if view is None or view.__module__ not in {m.__name__ for m in MODULES}:
            continue
        assert issubclass(view, ApiView)
        for method in ("GET", "POST", "PUT", "DELETE"):
            if hasattr(view, method.lower()):
                yield method, "/" + str(found.pattern), tuple(view.parameters.get(method, ()))


def _patterns(listed: list[Any]) -> Iterator[URLPattern]:
    for item in listed:
        if isinstance(item, URLPattern):
            yield item
        elif "clusters" not in str(item.pattern):
            yield from _patterns(item.url_patterns)


@pytest.fixture
def table(cluster: ApiCluster, tasks: list[Any], monkeypatch: pytest.MonkeyPatch) -> ApiCluster:
    """Segments a and b; an entry is open."""
    monkeypatch.setattr(wiring, "servers", FakeServers)
    cluster.memory.delete("/LIVEINSTANCES/Broker_127.0.0.1_9000")
    return cluster.create().push("a", "b")


@pytest.mark.parametrize("flag", ["true", 1, "false", []])
def test_a_dry_run_that_is_asked_for_in_another_form_deletes_nothing(table: ApiCluster, flag: Any) -> None:
    for path in ("delete", "restore"):
        answer = table.http.post(f"/api/v1/segments/t/{path}", {"segments": ["a"], "dryRun": flag}, "application/json")
        assert (answer.status_code, "dryRun" in answer.json()["error"]) == (400, True)
    assert set(table.ideal) == {"a", "b"}


def test_names_that_no_file_can_have_are_refused_and_the_longest_that_can_go_all_the_way(table: ApiCluster) -> None:
    longest = "s" * 180
    assert table.post_tar(table.build(longest), longest[:50]).status_code == 200
    assert table.serve().http.delete(f"/segments/t_OFFLINE/{longest}?retention=3d").status_code == 200
    deletion.drain(table.serve().ctx, TABLE)
    assert [k.segment for k in archive.list_kept(table.ctx, TABLE)[0]] == [longest]
    for name in ("s" * 181, "ä" * 31, LONE_SURROGATE):
        body = json.dumps({"segmentsFrom": [], "segmentsTo": [name]})
        assert (
            table.http.post("/segments/t/startReplaceSegments?type=OFFLINE", body, "application/json").status_code
            == 400
        )
    whole = json.dumps({"segmentsFrom": [], "segmentsTo": ["\U0001f600"]})
    assert (
        table.http.post("/segments/t/startReplaceSegments?type=OFFLINE", whole, "application/json").status_code == 200
    )


@pytest.mark.parametrize(
    ("method", "path", "parameters"), list(addresses()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_nonsense_is_refused_with_a_cause_and_never_a_fault_of_ours(
    table: ApiCluster, method: str, path: str, parameters: tuple[str, ...]
) -> None:
    entry = start(table, ["a"], ["n"])
    good = {"<str:table>": "t_OFFLINE", "<str:entry>": entry, "<str:segment>": "b", "<str:job>": "j"}
    asked = {
        "type": "OFFLINE",
        "segmentLineageEntryId": entry,
        "from": "current",
        "to": entry,
        "startTimestamp": "1",
        "endTimestamp": "2",
    }
    usual = {k: v for k, v in asked.items() if k in parameters}
    for hole, word in itertools.product(
        [h for h in good if h in path], [w for w in WORDS if w.strip() and "/" not in w]
    ):
        ask(table, method, fill(path, {**good, hole: word}), usual)
    for parameter, word in itertools.product(parameters, WORDS):
        ask(table, method, fill(path, good), {**usual, parameter: word})
    for body in BODIES if method in ("POST", "PUT") else ():
        ask(table, method, fill(path, good), usual, body)


def fill(path: str, values: dict[str, str]) -> str:
    for hole, word in values.items():
        path = path.replace(hole, word.replace("%", "%25").replace("?", "%3F").replace("#", "%23"))
    return path


def ask(table: ApiCluster, method: str, path: str, query: dict[str, str], body: str | bytes = b"") -> None:
    answer = table.http.generic(method, path, body, "application/json", query_params=query)
    shown = f"{method} {path[:200]!r} {str(query)[:200]} {body[:200]!r}: {answer.status_code}"
    assert answer.status_code < 500, f"{shown} {getattr(answer, 'content', b'')[:500]!r}"
    if answer.status_code >= 400:
        assert set(answer.json()) >= {"code", "error"}, shown
