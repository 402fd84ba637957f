"""Our services on real controllers of three versions: replacements, segments, tables, instances, tasks; each read in
both ways.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from segments.clusters.pinot.connected_engine import controller
from segments.clusters.pinot.tasks import queues as pinot_tasks
from segments.domain.pinot.refusals import refusal
from segments.domain.segments.admission import Conditions
from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import parse_table_config
from segments.errors import (
    Gone,
    InvalidInput,
    NotFound,
    OutcomeUnknown,
    PinotAdminError,
    PreconditionFailed,
    StateConflict,
)
from segments.gateways.pinot import PinotRefused
from segments.models import AuditEvent
from segments.names import OFFLINE, TableName
from segments.segmentfile import build_segment, write_tar
from segments.services.clusters import cluster_settings, instances
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.protocol import end_replace, preview_revert, revert_replace, start_replace
from segments.services.segments import deletion, uploads
from segments.services.segments import segments as segment_lists
from segments.services.segments.segment_reset import reset_table
from segments.services.segments.upload_options import UploadOptions
from segments.services.tables import schemas, tables
from tests.integration.running import DAY0, config_of, schema_of
from tests.real_pinot.controllers.driven import ANN, Driven
from tests.waiting import wait_until

pytestmark = [pytest.mark.real_pinot, pytest.mark.timeout(300), pytest.mark.django_db]
STEPS = ("startReplaceSegments", "endReplaceSegments", "revertReplaceSegments")


def make_tar(folder: Path, table: TableName, segment: str, rows: int = 7) -> Path:
    """A segment of ours."""
    folder.mkdir(parents=True, exist_ok=True)
    schema, config = parse_schema(schema_of(table.raw)), parse_table_config(config_of(table.raw))
    data = pa.table({"v": [segment] * rows, "n": list(range(rows)), "day": [DAY0] * rows})
    build_segment(data, schema, config, segment, folder, creation_time_ms=1_700_000_000_000)
    tar = folder / f"{segment}.tar.gz"
    write_tar(folder / segment, tar)
    return tar


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder."""

    def log_message(self, *args: Any) -> None:
        """Quiet."""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The folder at an address: controllers fetch no ``file:``."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def entries(each: Driven, table: TableName) -> list[tuple[tuple[str, ...], tuple[str, ...], str]]:
    """(from, to, state) as we read them, oldest first."""
    return [(e.segments_from, e.segments_to, e.state.value) for e in observe(each.ctx, table).lineage.in_order()]


def visible(each: Driven, table: TableName) -> list[str]:
    return segment_lists.list_segments(each.ctx, table, exclude_replaced=True)


@pytest.mark.parametrize("is_heard", [True, False])
def test_a_replacement_goes_through_and_back_once_even_where_every_answer_is_lost(
    each: Driven, tmp_path: Path, is_heard: bool
) -> None:
    table = each.offline_table("a")

    def losing(path: str) -> Context:
        assert each.transport.lost == ""
        each.transport.lost = "" if is_heard else path
        return each.ctx

    entry = start_replace(losing("startReplaceSegments"), table, ["a"], ["b"], custom_map={"job": "7"}, actor=ANN)
    uploads.upload_tar(losing("segments"), table, make_tar(tmp_path, table, "b"), actor=ANN, lineage_entry=entry)
    assert visible(each, table) == ["a"]
    end_replace(losing("endReplaceSegments"), table, entry, actor=ANN)
    assert (visible(each, table), entries(each, table)) == (["b"], [(("a",), ("b",), "COMPLETED")])
    assert preview_revert(each.ctx, table, entry).allowed
    revert_replace(losing("revertReplaceSegments"), table, entry, actor=ANN)
    assert (visible(each, table), entries(each, table)) == (["a"], [(("a",), ("b",), "REVERTED")])
    losing("")
    done = (
        AuditEvent.objects.filter(target=table.typed, action__in=STEPS).order_by("pk").values_list("action", "outcome")
    )
    assert list(done) == [(step, "done") for step in STEPS]


def test_what_our_rules_refuse_is_refused_before_the_controller_hides_the_cause(each: Driven) -> None:
    table = each.offline_table("a")
    entry = start_replace(each.ctx, table, ["a"], ["b"], actor=ANN)
    with pytest.raises(StateConflict, match=entry):
        start_replace(each.ctx, table, ["a"], ["c"], actor=ANN)
    with pytest.raises(NotFound, match="none"):
        start_replace(each.ctx, table, ["none"], ["c"], actor=ANN)
    with pytest.raises(PreconditionFailed, match="b"):
        end_replace(each.ctx, table, entry, actor=ANN)
    with pytest.raises(NotFound):
        end_replace(each.ctx, table, "unknown", actor=ANN)
    with pytest.raises(StateConflict, match="forceRevert"):
        revert_replace(each.ctx, table, entry, actor=ANN)
    assert entries(each, table) == [(("a",), ("b",), "IN_PROGRESS")]
    refused = {o.segment: o.outcome for o in deletion.delete_segments(each.ctx, table, ["a", "nobody"], actor=ANN)}
    assert refused["a"] == "refused"
    revert_replace(each.ctx, table, entry, force=True, actor=ANN)
    assert visible(each, table) == ["a"]


def test_an_end_of_a_part_goes_through_where_the_version_has_it(each: Driven, tmp_path: Path) -> None:
    table = each.offline_table()
    entry = start_replace(each.ctx, table, [], ["b", "c"], actor=ANN)
    uploads.upload_tar(each.ctx, table, make_tar(tmp_path, table, "b"), actor=ANN, lineage_entry=entry)
    if each.version == "0.11.0":
        with pytest.raises(StateConflict, match=r"Pinot 0\.11\.0 ends a replacement with all the segments"):
            end_replace(each.ctx, table, entry, segments_to=["b"], actor=ANN)
        return
    end_replace(each.ctx, table, entry, segments_to=["b"], actor=ANN)
    assert visible(each, table) == ["b"]


def test_segments_come_by_tar_by_address_and_by_metadata_and_go_by_name(each: Driven) -> None:
    table = each.offline_table()
    folder = each.folder / table.raw
    first, second, third = (make_tar(folder, table, name) for name in ("s1", "s2", "s3"))
    uploads.upload_tar(each.ctx, table, first, actor=ANN)
    with serving(folder) as address:
        uploads.upload_uri(each.ctx, table, f"{address}/{second.name}", actor=ANN)
        uploads.upload_metadata_tar(each.ctx, table, third, f"{address}/{third.name}", actor=ANN)
    assert segment_lists.list_segments(each.ctx, table) == ["s1", "s2", "s3"]
    wait_until(lambda: set(each.view(table)) == {"s1", "s2", "s3"}, 60.0, "online")
    records = segment_lists.read_records(each.ctx, table)
    assert {name: record.total_docs for name, record in records.items()} == {"s1": 7, "s2": 7, "s3": 7}
    only_new = UploadOptions(conditions=Conditions(refresh_only=True))
    with pytest.raises(Gone):
        uploads.upload_tar(each.ctx, table, make_tar(folder, table, "s4"), options=only_new, actor=ANN)
    each.transport.lost = "delete"
    outcomes = deletion.delete_segments(each.ctx, table, ["s1", "s2", "nobody"], actor=ANN)
    assert [o.outcome for o in outcomes] == ["done", "done", "unchanged"]
    assert segment_lists.list_segments(each.ctx, table) == ["s3"]
    assert reset_table(each.ctx, table, errors_only=True, target=None, actor=ANN) == 0


def test_tables_and_schemas_are_made_changed_disabled_and_dropped(each: Driven) -> None:
    name = f"made_{uuid.uuid4().hex[:8]}"
    schema = schema_of(name)
    each.transport.lost = "schemas"
    schemas.create_schema(each.ctx, schema, override=False, actor=ANN)
    with pytest.raises(StateConflict, match="exists"):
        schemas.create_schema(each.ctx, schema, override=False, actor=ANN)
    wider = {**schema, "dimensionFieldSpecs": [*schema["dimensionFieldSpecs"], {"name": "more", "dataType": "LONG"}]}
    schemas.update_schema(each.ctx, name, wider, actor=ANN)
    with pytest.raises(PinotAdminError) as error:
        schemas.update_schema(
            each.ctx, name, {**schema, "dimensionFieldSpecs": schema["dimensionFieldSpecs"][:1]}, actor=ANN
        )
    assert error.value.permanent
    each.transport.lost = "tables"
    tables.create_table(each.ctx, config_of(name), actor=ANN)
    table = TableName(name, OFFLINE)
    wait_until(lambda: name in tables.list_tables(each.ctx), 30.0, "the table is listed")
    with pytest.raises(StateConflict, match="exists"):
        tables.create_table(each.ctx, config_of(name), actor=ANN)
    wrong = config_of(name)
    wrong["segmentsConfig"]["timeColumnName"] = "nobody"
    with pytest.raises(InvalidInput, match="nobody"):
        tables.update_table(each.ctx, name, wrong, actor=ANN)
    each.transport.lost = f"{name}_OFFLINE"
    tables.update_table(each.ctx, name, {**config_of(name), "query": {"timeoutMs": 4_000}}, actor=ANN)
    assert each.raw.call("GET", f"/tables/{name}").json()["OFFLINE"]["query"]["timeoutMs"] in (4_000, "4000")
    tables.set_table_enabled(each.ctx, table, False, actor=ANN)
    assert is_enabled(each, table) is False
    tables.set_table_enabled(each.ctx, table, True, actor=ANN)
    assert is_enabled(each, table) is True
    with pytest.raises(StateConflict, match="used by table"):
        schemas.delete_schema(each.ctx, name, actor=ANN)
    each.transport.lost = name
    tables.delete_table(each.ctx, table, actor=ANN)
    schemas.delete_schema(each.ctx, name, actor=ANN)
    with pytest.raises(NotFound):
        schemas.delete_schema(each.ctx, name, actor=ANN)


def is_enabled(each: Driven, table: TableName) -> bool:
    where = {"path": f"/{each.controller.cluster}/IDEALSTATES/{table.typed}"}
    return bool(
        each.raw.call("GET", "/zk/get", params=where).json()["simpleFields"].get("HELIX_ENABLED", "true") == "true"
    )


def test_instances_and_settings_are_read_and_changed(each: Driven) -> None:
    assert instances.list_instances(each.ctx) == sorted(
        [
            "Broker_127.0.0.1_3",
            "Controller_127.0.0.1_" + each.controller.url.rpartition(":")[2],
            "Server_127.0.0.1_1",
            "Server_127.0.0.1_2",
        ]
    )
    added = instances.add_instance(
        each.ctx, host="10.0.0.9", port=8098, kind="SERVER", tags=["spare_OFFLINE"], actor=ANN
    )
    assert instances.instance_json(each.ctx, added)["tags"] == ["spare_OFFLINE"]
    with pytest.raises(StateConflict, match="exists"):
        instances.add_instance(each.ctx, host="10.0.0.9", port=8098, kind="SERVER", tags=[], actor=ANN)
    instances.set_instance_state(each.ctx, added, is_enabled=False, actor=ANN)
    wait_until(lambda: instances.instance_json(each.ctx, added)["enabled"] is False, 30.0, "disabled")
    each.transport.lost = added
    instances.drop_instance(each.ctx, added, actor=ANN)
    assert added not in instances.list_instances(each.ctx)
    with pytest.raises(PinotAdminError):
        instances.drop_instance(each.ctx, "Server_127.0.0.1_1", actor=ANN)
    cluster_settings.set_settings(each.ctx, {"pinot.tests.word": "x"}, actor=ANN)
    assert cluster_settings.read_settings(each.ctx)["pinot.tests.word"] == "x"
    cluster_settings.remove_setting(each.ctx, "pinot.tests.word", actor=ANN)
    with pytest.raises(NotFound):
        cluster_settings.remove_setting(each.ctx, "pinot.tests.word", actor=ANN)


def test_tasks_are_reported_as_far_as_the_version_reports_them(driven: Driven) -> None:
    found = pinot_tasks.read_tasks(driven.ctx)
    assert found.types == ()
    assert "RetentionManager" in found.periodic
    assert any("switched off" in note for note in found.notes)
    assert not any("cannot be listed" in note for note in found.notes), found.notes
    status = pinot_tasks.table_status(driven.ctx, driven.offline_table("a"))
    assert status["size"] is not None
    assert (status["segments"] is None) is (driven.version != "1.5.1")


#: {case: (method, path, parameters, body, our error)}; ``{t}`` is a table with a segment ``a``, ``{r}`` one that
#: consumes.
REFUSALS: dict[str, tuple[str, str, dict[str, str], Any, type[PinotAdminError]]] = {
    "unknown old side": (
        "POST",
        "/segments/{t}/startReplaceSegments",
        {"type": "OFFLINE"},
        {"segmentsFrom": ["no"], "segmentsTo": ["b"]},
        NotFound,
    ),
    "taken name": (
        "POST",
        "/segments/{t}/startReplaceSegments",
        {"type": "OFFLINE"},
        {"segmentsFrom": [], "segmentsTo": ["a"]},
        StateConflict,
    ),
    "nothing named": (
        "POST",
        "/segments/{t}/startReplaceSegments",
        {"type": "OFFLINE"},
        {"segmentsFrom": [], "segmentsTo": []},
        InvalidInput,
    ),
    "no type": (
        "POST",
        "/segments/{t}/startReplaceSegments",
        {},
        {"segmentsFrom": [], "segmentsTo": ["b"]},
        InvalidInput,
    ),
    "unknown table": (
        "POST",
        "/segments/no/startReplaceSegments",
        {"type": "OFFLINE"},
        {"segmentsFrom": [], "segmentsTo": ["b"]},
        NotFound,
    ),
    "no entry": ("POST", "/segments/{t}/endReplaceSegments", {"type": "OFFLINE"}, None, InvalidInput),
    "unknown entry": (
        "POST",
        "/segments/{t}/endReplaceSegments",
        {"type": "OFFLINE", "segmentLineageEntryId": "no"},
        None,
        OutcomeUnknown,
    ),
    "no names": ("POST", "/segments/{t}_OFFLINE/delete", {}, [], InvalidInput),
    "unknown segment": ("POST", "/segments/{t}_OFFLINE/no/reset", {}, None, NotFound),
    "no file": ("GET", "/segments/{t}/no", {}, None, NotFound),
    "unknown config": ("GET", "/schemas/no", {}, None, NotFound),
    "unknown schema": ("DELETE", "/schemas/no", {}, None, NotFound),
    "table there": ("POST", "/tables", {}, "config", StateConflict),
    "unknown column": ("PUT", "/tables/{t}", {}, "wrong column", InvalidInput),
    "no word of Pinot": ("POST", "/tables/{r}/resumeConsumption", {"consumeFrom": "never"}, None, InvalidInput),
    "nothing consumes": ("GET", "/tables/{t}/pauseStatus", {}, None, NotFound),
    "unknown to consume": ("POST", "/tables/no/pauseConsumption", {}, None, NotFound),
    "no such pass": ("GET", "/periodictask/run", {"taskname": "No"}, None, NotFound),
}


@pytest.fixture(scope="module")
def named(driven: Driven) -> dict[str, str]:
    """Tables that refusals are about."""
    return {"t": driven.offline_table("a").raw, "r": driven.realtime_table().raw}


@pytest.mark.parametrize("case", REFUSALS)
def test_the_words_of_every_version_become_the_same_error(driven: Driven, named: dict[str, str], case: str) -> None:
    method, path, params, body, kind = REFUSALS[case]
    if isinstance(body, str):
        config = config_of(named["t"])
        body = json.loads(json.dumps(config).replace('"day"', '"nobody"')) if body == "wrong column" else config
    ask = controller(driven.ctx).read if method == "GET" else controller(driven.ctx).send
    with pytest.raises(PinotRefused) as told:
        ask(method, path.format(**named), params, body)
    found = refusal(told.value.pinot_status, told.value.pinot_message)
    assert type(found) is kind, f"{told.value.pinot_status} {told.value.pinot_message}"
    assert found.remedy
