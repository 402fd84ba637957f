"""Strategies for requests that nobody sends by accident: odd names and numbers, documents with one value replaced, raw
bytes, headers.
"""

from __future__ import annotations

import json
from typing import Any, Final

from hypothesis import strategies as st

from tests.api.cluster import config_of, schema_of
from tests.domain.test_models import CONFIG, ODD, SCHEMA, changed, paths

#: Values that lead somewhere in the campaign's world, by the name of the parameter.
KNOWN: Final[dict[str, list[str]]] = {
    "table": ["t", "t_OFFLINE", "t_REALTIME"],
    "schema": ["t"],
    "segment": ["a", "t__0__0__20231114T2213Z"],
    "name": ["test", "pinotadmin"],
    "instance": ["Server_127.0.0.1_8098", "Broker_127.0.0.1_9000"],
    "tenant": ["DefaultTenant"],
    "entry": ["id-1", "id-2"],
    "key": ["a.key"],
    "job": ["id-1"],
    "push_id": ["00000000-0000-0000-0000-000000000000"],
    "link": ["00000000-0000-0000-0000-000000000000"],
    "token": ["1"],
    "number": ["1"],
    "partition": ["0"],
    "hook": ["1"],
    "schedule": ["1"],
    "finding": ["1"],
    "session": ["cp_1_0a0b0c0d"],
    "run": ["0"],
    "type": ["OFFLINE", "REALTIME", "offline"],
    "tableType": ["OFFLINE", "REALTIME"],
    "tableName": ["t", "t_OFFLINE"],
    "tableNameWithType": ["t_OFFLINE"],
    "state": ["enable", "disable"],
    "sql": ["select * from t"],
    "limit": ["10"],
    "offset": ["0"],
    "before": ["5"],
    "retention": ["3d", "0d"],
    "segmentLineageEntryId": ["id-1"],
    "from": ["current"],
    "to": ["current"],
    "startTimestamp": ["1"],
    "endTimestamp": ["9999999999999"],
    "taskname": ["RetentionManager"],
    "partitions": ["0", "0,1"],
    "segments": ["a"],
    "consumeFrom": ["lastConsumed", "smallest"],
    "batchSize": ["1"],
    "topics": ["0"],
    "instanceId": ["Server_127.0.0.1_8098"],
    "streamPartitionMsgOffset": ["5"],
    "segmentName": ["t__0__0__20231114T2213Z", "a"],
    "reason": ["because"],
    "status": ["DONE"],
    "seqNum": ["1"],
}
WORDS: Final = [
    "",
    " ",
    "0",
    "-1",
    "1e9",
    "99999999999999999999",
    "9" * 5000,
    "٣",
    "²",
    "1_0",
    "nan",
    "nope",
    "äöü",
    "a,b",
    "..",
    ".",
    "../..",
    "a/b",
    "%2e%2e",
    "%00",
    "\x00",
    "a\x00b",
    "a\nb",
    "\x7f",
    "'",
    '"',
    "<b>",
    "x" * 3000,
    "é" * 200,
    "\U0001f600",
    "a__0__1__x",
    "__",
    "t_OFFLINE_REALTIME",
    "_OFFLINE",
    "-",
    "~",
    "\\",
    "a\tb",
    "\u202e",
    "true",
    "null",
    "[]",
    "{}",
    "9999-99-99",
    "0001-01-01T00:00:00Z",
    "-99999999999d",
    "999999999999999999d",
]
JOB: Final[dict[str, Any]] = {
    "jobType": "SegmentCreationAndTarPush",
    "inputDirURI": "/nowhere",
    "includeFileNamePattern": "glob:**/*.csv",
    "searchRecursively": True,
    "tableSpec": {"tableName": "t"},
    "recordReaderSpec": {"dataFormat": "csv", "configs": {"delimiter": ",", "header": "a,b"}},
    "segmentNameGeneratorSpec": {"type": "simple", "configs": {"segment.name.postfix": "x"}},
    "pinotClusterSpecs": [{"controllerURI": "http://localhost:9000"}],
    "pushJobSpec": {"pushAttempts": 1, "extraConfigs": {}},
    "executionFrameworkSpec": {"name": "spark", "extraConfigs": {"segmentTargetRows": 10, "atomicAppend": "true"}},
    "segmentCreationJobParallelism": 2,
    "failOnEmptySegment": False,
    "excludeFileNamePattern": "glob:*.x",
    "overwriteOutput": True,
}
YAMLS: Final = [
    "jobType: 2020-13-45\n",
    "a: &a [*a]\n",
    "a: &a {b: *a}\n",
    "jobType: !!binary x\n",
    "jobType: !!timestamp 9999-99-99\n",
    "? [a]\n: b\n",
    "{",
    "- a\n- b\n",
    "jobType: !!python/object:os.system x\n",
    "jobType: 0x" + "f" * 5000,
    "inputDirURI: '" + "x" * 5000 + "'\n",
    "1: 2\n",
    "null: 1\n",
    "a: 1e999\n",
    "!!set {a}\n",
    'jobType: SegmentCreationAndTarPush\ninputDirURI: "a\\0b"\ntableSpec: {tableName: t}\nrecordReaderSpec: '
    "{dataFormat: csv}\n",
    "jobType: SegmentCreationAndTarPush\ninputDirURI: /"
    + "x" * 5000
    + "\ntableSpec: {tableName: t}\nrecordReaderSpec: {dataFormat: csv}\n",
    "jobType: SegmentCreationAndTarPush\ninputDirURI: /"
    + "x/" * 3000
    + "\ntableSpec: {tableName: t}\nrecordReaderSpec: {dataFormat: csv}\n",
    "jobType: SegmentCreationAndTarPush\ninputDirURI: 'file://[::1'\ntableSpec: {tableName: t}\n",
    "a: 60:60:60.9\n",
    "a: 1_0\n",
    "<<: 1\n",
    "<<: [1]\n",
    "a: <<\n",
    "=: 1\n",
    "[" * 2000,
    "a:\n" + "".join(" " * i + "a:\n" for i in range(1, 500)),
    "jobType: \ud800",
    "%YAML 9.9\n---\na: 1\n",
    "--- a\n--- b\n",
    "a: 2001-01-01T99:99:99Z\n",
    "\x00",
    "\ufeffa: 1",
]
#: Headers that clients get wrong.
HEADERS: Final[list[dict[str, str]]] = [
    {"Accept": "text/html"},
    {"Accept": "application/xml"},
    {"Accept": "*/*;q=x"},
    {"Accept": "a/b/c"},
    {"Accept": ",,,"},
    {"Content-Type": "text/plain"},
    {"Content-Type": "application/json; charset=nope"},
    {"Content-Type": "multipart/form-data"},
    {"Content-Type": "multipart/form-data; boundary=x"},
    {"Content-Type": "multipart/mixed; boundary="},
    {"Content-Type": "application/x-www-form-urlencoded"},
    {"Content-Type": ";;;"},
    {"Content-Type": "application/json; charset=utf-16"},
    {"Content-Encoding": "gzip"},
    {"Cookie": "sessionid=%00; a"},
    {"Cookie": "sessionid=\xe9; csrftoken=;;="},
    {"Host": "a b"},
    {"Host": "evil.example"},
    {"Host": ""},
    {"X-Reason": "x" * 3000},
    {"If-Match": "x"},
    {"Range": "bytes=9-1"},
    {"Content-Length": "-1"},
    {"Content-Length": "99999999999999999999"},
    {"Content-Length": "x"},
    {"Authorization": "Basic =="},
    {"Authorization": "Basic " + "A" * 5000},
    {"Authorization": "Bearer \xe9"},
    {"Authorization": "Basic AA=="},
    {"DOWNLOAD_URI": "http://[::1"},
    {"UPLOAD_TYPE": "URI"},
    {"UPLOAD_TYPE": "METADATA"},
    {"Accept-Language": "x" * 600},
    {"Expect": "nope"},
]
START: Final = {"segmentsFrom": ["a"], "segmentsTo": ["n"], "customMap": {"k": "v", "pinotadmin.declaredBytes": "5"}}
#: A whole document per operation whose label has this in it.
DOCUMENTS: Final[tuple[tuple[str, Any], ...]] = (
    ("/tables/validate", CONFIG),
    ("/tableConfigs/validate", {"tableName": "t", "schema": SCHEMA, "offline": CONFIG}),
    ("POST /tables", CONFIG),
    ("PUT /tables/{table}", config_of()),
    ("POST /schemas", SCHEMA),
    ("PUT /schemas", schema_of()),
    ("/schemas/validate", SCHEMA),
    ("startReplace", START),
    ("endReplace", {"segmentsTo": ["n"], "customMap": {}}),
    ("revertReplace", {"customMap": {}}),
    ("/api/v1/pushes", {"spec": JOB, "reason": "r", "overrideChecks": "x"}),
    ("POST /api/v1/pushes", JOB),
    (
        "/checks",
        {
            "checks": [
                {"kind": "rowCount", "min": 1, "name": "n"},
                {"kind": "time", "column": "day", "notBefore": "now - 1d"},
                {"kind": "nullShare", "column": "v", "max": 0.1},
                {"kind": "sql", "sql": "select 1 from t", "expect": "= 1"},
                {"kind": "uniqueKey", "columns": ["v"]},
            ],
            "timeoutMs": 1000,
        },
    ),
    (
        "/api/v1/clusters",
        {
            "name": "other",
            "controllerUrls": ["http://127.0.0.1:1"],
            "brokerUrl": "",
            "auth": "none",
            "tlsInsecure": False,
            "zookeeper": "",
            "secret": "x",
            "tlsCa": "/x",
        },
    ),
    ("/instances", {"host": "h", "port": 1, "type": "SERVER", "tags": ["a_OFFLINE"]}),
    ("/cluster/configs", {"a": "b", "c": 1}),
    ("/delete", {"segments": ["a"], "dryRun": True, "retention": "3d", "force": False}),
    ("POST /segments/{table}/delete", ["a"]),
    ("/restore", {"segments": ["a"], "dryRun": True}),
    ("query", {"sql": "select count(*) from t", "queryOptions": "timeoutMs=1", "trace": False}),
    ("/sql", {"sql": "select count(*) from t", "queryOptions": {"a": "b"}}),
    ("Partitions", {"partitions": [0], "comment": "c", "consumeFrom": "smallest"}),
    ("resumeConsumption", {"offsets": {"0": "5"}, "consumeFrom": "lastConsumed", "dryRun": True, "comment": "x"}),
    ("/end", {"segmentsTo": ["n"]}),
    ("/pin", {"reason": "r"}),
    ("/rollback", {"target": "id-1", "reason": "r", "dryRun": True}),
    ("/tokens", {"name": "x", "scope": "read", "tables": ["t"], "expiresInDays": 5}),
    ("/state", "disable"),
)


def odd_values() -> st.SearchStrategy[str]:
    """A word that trips programs, or any text."""
    return st.one_of(st.sampled_from(WORDS), st.text(max_size=20))


def known_bodies(label: str) -> st.SearchStrategy[bytes]:
    """The operation's document with one value replaced, as JSON."""
    found = [document for part, document in DOCUMENTS if part in label] or [{"a": 1}]

    def mutated(document: Any) -> st.SearchStrategy[Any]:
        places = list(paths(document))
        return st.one_of(
            st.just(document),
            st.tuples(st.sampled_from(places), st.sampled_from(ODD)).map(
                lambda drawn: changed(document, drawn[0], drawn[1])
            ),
        )

    return st.sampled_from(found).flatmap(mutated).map(lambda body: json.dumps(body).encode())


def odd_bodies() -> st.SearchStrategy[bytes]:
    """Bytes that are no document of the operation: other JSON, broken JSON, YAML, half characters, nothing."""
    raw = [
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
        b'{"a":"\\u0000"}',
        b"\x00",
        b"[" * 5000,
        b'{"a":1e999}',
        b'{"a":' + b"9" * 5000 + b"}",
        b'{"a":1,"a":2}',
        b"\xef\xbb\xbf{}",
        '{"a":1}'.encode("utf-16"),
        b'{"\\ud800":1}',
        b"--x\r\n\r\n--x--",
        b'{"":{"":{"":null}}}',
        b'[{"a":[{}]}]',
        b"true",
        b"-",
        b"a=b&c=d",
    ]
    yamls = [text.encode("utf-8", "surrogatepass") for text in YAMLS]
    return st.one_of(st.sampled_from(raw), st.sampled_from(yamls), st.binary(max_size=30))


def odd_headers() -> st.SearchStrategy[dict[str, str]]:
    """Mostly none; else one that clients get wrong."""
    return st.one_of(st.just({}), st.just({}), st.just({}), st.sampled_from(HEADERS))
