"""The REST side of realtime tables: parameters, codes, rights, and the shape of answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from segments import wiring
from segments.domain.formats.znrecord import ZNRecord
from segments.gateways.streams import check_stream, stream_access
from segments.services.realtime.force_commit import read_jobs
from segments.store import paths
from tests.api.cluster import basic
from tests.services.realtime_world import TABLE, RealtimeWorld, config_of

pytestmark = pytest.mark.django_db
PATHS = [("post", "pauseConsumption"), ("post", "resumeConsumption"), ("get", "pauseStatus"), ("post", "forceCommit")]


class Api:
    """A world behind HTTP, asked as a superuser."""

    def __init__(self, folder: Path) -> None:
        self.world = RealtimeWorld(folder, partitions=2, topics=2)
        User.objects.create_superuser("root", password="a long enough secret")
        User.objects.create_user("reader", password="a long enough secret")
        self.client = Client(headers={"Authorization": basic("root", "a long enough secret")})
        self.reader = Client(headers={"Authorization": basic("reader", "a long enough secret")})

    def call(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        more = {"data": json.dumps(body), "content_type": "application/json"} if body is not None else {}
        return getattr(self.client, method)(path, query_params=query, **more)


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    found = Api(tmp_path)
    with wiring.use(found.world.ctx):
        yield found


@pytest.mark.parametrize(("method", "word"), PATHS)
def test_tables_that_are_not_there_disabled_or_offline_are_refused(api: Api, method: str, word: str) -> None:
    answer = api.call(method, f"/tables/u/{word}")
    assert answer.status_code == 404
    assert "Table u_REALTIME not found!" in answer.json()["error"]
    assert api.call(method, f"/tables/t_OFFLINE/{word}").status_code == 404
    assert api.call("put", "/tables/t/state", type="realtime", state="disable").status_code == 200
    answer = api.call(method, f"/tables/t/{word}")
    assert answer.status_code == 400
    assert "disabled" in answer.json()["error"]
    assert api.call("get", "/tables/t/state", type="realtime").json() == {"state": "disabled"}
    assert api.call("put", "/tables/t/state", type="realtime", state="enable").status_code == 200
    assert api.call(method, f"/tables/t/{word}").status_code == 200


@pytest.mark.parametrize(("method", "word"), [p for p in PATHS if p[0] == "post"])
def test_who_may_only_read_changes_nothing(api: Api, method: str, word: str) -> None:
    assert getattr(api.reader, method)(f"/tables/t/{word}").status_code == 403
    assert api.reader.get("/tables/t/pauseStatus").status_code == 200
    assert not api.world.pause.paused


def test_pause_and_resume_over_http(api: Api) -> None:
    assert api.call("post", "/tables/t/pauseConsumption", comment="x", batchSize="1").json()["comment"] == "x"
    assert api.call("get", "/tables/t_REALTIME/pauseStatus").json()["pauseFlag"] is True
    api.world.commit("9")
    answer = api.call("post", "/tables/t/resumeConsumption", consumeFrom="LASTCONSUMED")
    assert answer.json()["consumingSegments"] == api.world.consuming
    assert len(api.world.consuming) == 4


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("resumeConsumption", {"consumeFrom": ""}),
        ("resumeConsumption", {"consumeFrom": "now"}),
        ("pauseConsumption", {"batchSize": "0"}),
        ("pauseConsumption", {"batchStatusCheckIntervalSec": "x"}),
        ("pauseConsumption", {"resumeAfter": "soon"}),
        ("forceCommit", {"partitions": "0", "segments": "s"}),
        ("forceCommit", {"partitions": "one"}),
        ("forceCommit", {"partitions": "7"}),
        ("forceCommit", {"batchStatusCheckTimeoutSec": "-1"}),
        ("pauseTopicConsumption", {"topicIndices": "a,b"}),
        ("pauseTopicConsumption", {}),
        ("pauseTopicConsumption", {"topicIndices": "2"}),
        ("resumeTopicConsumption", {"topicIndices": "-1"}),
    ],
)
def test_malformed_requests_are_400_and_change_nothing(api: Api, path: str, query: dict[str, str]) -> None:
    before = api.world.ideal
    answer = api.call("post", f"/tables/t/{path}", **query)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert api.world.ideal == before
    assert api.world.messages() == []


def test_bad_batches_are_reported_before_a_missing_table(api: Api) -> None:
    assert api.call("post", "/tables/nobody/forceCommit", batchSize="0").status_code == 400


def test_topics_over_http(api: Api) -> None:
    answer = api.call("post", "/tables/t/pauseTopicConsumption", topicIndices=" 1 , 0 ")
    assert answer.json()["indexOfInactiveTopics"] == [0, 1]
    assert api.call("get", "/tables/t/pauseStatus").json()["indexOfInactiveTopics"] == [0, 1]
    assert api.call("post", "/tables/t/resumeTopicConsumption", topicIndices="0").json()["indexOfInactiveTopics"] == [1]


def test_a_force_commit_and_its_status(api: Api) -> None:
    job = api.call("post", "/tables/t/forceCommit", partitions="0,10000").json()["forceCommitJobId"]
    status = api.call("get", f"/tables/forceCommitStatus/{job}").json()
    assert status["numberOfSegmentsYetToBeCommitted"] == 2
    assert isinstance(status["segmentsYetToBeCommitted"], list)
    assert isinstance(status["segmentsForceCommitted"], str)
    assert api.call("get", "/tables/forceCommitStatus/nobody").status_code == 404


def test_the_batches_that_are_asked_for_are_those_of_the_job(api: Api) -> None:
    """A pause has none: servers commit as soon as they see it in the ideal state."""
    values = {"batchSize": "1", "batchStatusCheckIntervalSec": "7", "batchStatusCheckTimeoutSec": "30"}
    assert api.call("post", "/tables/t/forceCommit", **values).status_code == 200
    [job] = read_jobs(api.world.ctx)
    assert (job.batch.size, job.batch.interval_s, job.batch.timeout_s) == (1, 7, 30)


def test_partitions_and_chosen_offsets(api: Api) -> None:
    answer = api.call("post", "/api/v1/tables/t/pausePartitions", {"partitions": [0], "comment": "slow"})
    assert answer.json()["pausedPartitions"] == [0]
    assert api.call("post", "/api/v1/tables/t/pausePartitions", {"partitions": []}).status_code == 400
    assert api.call("post", "/api/v1/tables/t/resumePartitions", {"partitions": [0]}).status_code == 200
    api.call("post", "/tables/t/pauseConsumption")
    api.world.commit("9")
    plan = api.call("post", "/api/v1/tables/t/resumeConsumption", {"offsets": {"0": "5"}}).json()
    assert plan["dryRun"] is True
    assert plan["partitions"][0]["repeatedRows"] == 4
    assert api.world.consuming == []
    done = api.call("post", "/api/v1/tables/t/resumeConsumption", {"offsets": {"0": "5"}, "dryRun": False})
    assert done.json()["pauseFlag"] is False
    assert api.world.fields(api.world.consuming[0])["segment.realtime.startOffset"] == "5"
    assert api.call("get", "/api/v1/tables/t/dataLosses").json() == {"losses": []}
    assert api.call("get", "/api/v1/tables/t/consumers").json() == {"consumers": []}


@pytest.mark.parametrize(
    "body", [[], {"offsets": []}, {"offsets": {"a": 1}}, {"consumeFrom": 5}, {"comment": 5, "dryRun": False}]
)
def test_malformed_bodies_are_400(api: Api, body: Any) -> None:
    assert api.call("post", "/api/v1/tables/t/resumeConsumption", body).status_code == 400


def test_what_consumes_and_where_it_goes_on(api: Api) -> None:
    info = api.call("get", "/tables/t/consumingSegmentsInfo").json()
    assert list(info["_segmentToConsumingInfoMap"]) == api.world.consuming
    assert info["serversFailingToRespond"] == 2
    marks = api.call("get", "/tables/t/consumerWatermarks").json()["watermarks"]
    assert marks[0] == {"partitionGroupId": 0, "sequenceNumber": 0, "offset": "0"}
    api.world.commit("9")
    assert api.call("get", "/tables/t/consumerWatermarks").json()["watermarks"][0] == {
        "partitionGroupId": 0,
        "sequenceNumber": 1,
        "offset": "9",
    }
    assert api.call("get", "/tables/nobody/consumingSegmentsInfo").status_code == 404


def test_a_table_that_is_made_again_goes_on_where_it_was(api: Api) -> None:
    api.world.commit("9")
    marks = api.call("get", "/tables/t/consumerWatermarks").json()["watermarks"]
    assert api.call("delete", "/tables/t").status_code == 200
    for text, status in (("{", 400), ("[{}]", 400), (json.dumps(marks), 200)):
        made = api.call("post", "/tables", config_of(topics=2), watermarks=text)
        assert made.status_code == status, made.content
    assert api.call("get", "/tables/t/consumerWatermarks").json()["watermarks"] == marks


def test_what_is_being_committed_and_what_is_in_error(api: Api) -> None:
    path = "/tables/t/pauselessDebugInfo"
    nothing = {"instanceToErrorSegmentsMap": {}, "committingSegments": []}
    assert api.call("get", path).json() == nothing
    segment, store = api.world.segments(0)[0], api.world.memory
    listed = ZNRecord(TABLE.typed, {}, {}, {"committingSegments": [segment, "gone"]})
    store.create(paths.committing(TABLE.typed), listed)
    assert api.call("get", path).json() == nothing
    api.world.set_record(segment, segment_realtime_status="COMMITTING", segment_realtime_endOffset="9")
    store.delete_tree(paths.external_view(TABLE.typed))
    states = {"Server_s_8098": "ERROR", "Server_s_8099": "ONLINE"}
    store.create(paths.external_view(TABLE.typed), ZNRecord(TABLE.typed, {}, {segment: states}))
    assert api.call("get", path).json() == {
        "instanceToErrorSegmentsMap": {"Server_s_8098": [segment]},
        "committingSegments": [segment],
    }
    assert api.call("get", "/tables/nobody/pauselessDebugInfo").status_code == 404


def test_deletion_from_a_sequence_needs_a_pause_and_a_realtime_name(api: Api) -> None:
    path = f"/deleteSegmentsFromSequenceNum/{TABLE.typed}"
    [segment] = api.world.segments(0)
    assert api.call("delete", "/deleteSegmentsFromSequenceNum/t", segments=segment).status_code == 400
    assert api.call("delete", path).status_code == 400
    assert api.call("delete", path, segments=segment, dryRun="true").status_code == 412
    assert api.call("delete", path, segments=segment, force="true").json()["dryRun"] is True
    assert segment in api.world.ideal.maps


def test_reset_and_reload_over_http(api: Api) -> None:
    [segment] = api.world.segments(0)
    assert api.call("post", f"/segments/t_REALTIME/{segment}/reset").status_code == 200
    assert api.call("post", "/segments/t_REALTIME/nobody/reset").status_code == 404
    assert api.call("post", "/segments/t_REALTIME/reset", errorSegmentsOnly="true").status_code == 200
    assert "Submitted reload job id" in api.call("post", f"/segments/t/{segment}/reload").json()["status"]
    assert "t_REALTIME" in api.call("post", "/segments/t/reload").json()["status"]
    assert (
        "No segments to upload" in api.call("post", "/segments/t_REALTIME/uploadFromServerToDeepstore").json()["status"]
    )
    assert api.call("post", "/segments/t/uploadFromServerToDeepstore", segmentNames=segment).status_code == 400


def test_instances_are_registered_and_forgotten_only_when_nothing_counts_on_them(api: Api) -> None:
    body = {"host": "h", "port": 18000, "type": "SERVER", "tags": ["x_REALTIME"]}
    assert api.call("post", "/instances", body).status_code == 200
    assert api.call("get", "/instances/Server_h_18000").json()["tags"] == ["x_REALTIME"]
    assert api.call("post", "/instances", body).status_code == 409
    assert api.call("post", "/instances", {"host": "h"}).status_code == 400
    assert api.call("delete", "/instances/Server_s_8098").status_code == 409
    assert api.call("delete", "/instances/Server_h_18000").status_code == 200
    assert api.call("delete", "/instances/Server_h_18000").status_code == 404


def test_cluster_settings_are_set_and_removed(api: Api) -> None:
    assert api.call("post", "/cluster/configs", {"a.b": "1"}).status_code == 200
    assert api.call("get", "/cluster/configs").json()["a.b"] == "1"
    assert api.call("delete", "/cluster/configs/a.b").status_code == 200
    assert api.call("delete", "/cluster/configs/a.b").status_code == 404
    assert api.call("post", "/cluster/configs", []).status_code == 400


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("max.segment.completion.time.millis", "600000", ("not_a_number", "0", "-100", "")),
        ("controller.segment.error.autoReset", "FALSE", ("no", "0")),
        ("controller.realtime.segment.partialOfflineReplicaRepairEnabled", "true", ("yes",)),
        ("controller.disk.utilization.threshold", "0.9", ("90%", "95", "0", "nan")),
        ("pinotadmin.disk.utilization.resume.threshold", "1", ("-1",)),
    ],
)
def test_a_cluster_setting_without_a_meaning_is_refused_and_the_value_before_stays(
    api: Api, key: str, good: str, bad: tuple[str, ...]
) -> None:
    assert api.call("post", "/cluster/configs", {key: good}).status_code == 200
    for text in bad:
        answer = api.call("post", "/cluster/configs", {key: text})
        assert answer.status_code == 400, text
        assert key in answer.json()["error"]
    assert api.call("get", "/cluster/configs").json()[key] == good
    assert api.call("delete", f"/cluster/configs/{key}").status_code == 200


REDIS = {"streamType": "redis", "stream.redis.url": "redis://localhost:2/0"}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"stream.kafka.consumer.prop.default.topic.config": {"auto.offset.reset": "x"}}, "default.topic.config"),
        ({"stream.kafka.consumer.prop.default.topic.config": "acks=0"}, "default.topic.config"),
        ({"streamType": "redis", "stream.redis.url": "redis://localhost:1/0?socket_timeout=x"}, "stream.redis.url"),
        ({"streamType": "redis", "stream.redis.url": "redis://localhost:1/0?unix_socket_path=/x"}, "stream.redis.url"),
        ({"streamType": "redis", "stream.redis.url": ["redis://localhost:1/0"]}, "stream.redis.url"),
        (
            {**REDIS, "realtime.segment.offsetAutoReset.offsetThreshold": "many"},
            "'realtime.segment.offsetAutoReset.offsetThreshold' is 'many', not a whole number",
        ),
    ],
)
def test_settings_that_no_stream_client_is_given_are_refused_by_name(
    api: Api, settings: dict[str, Any], told: str
) -> None:
    kind = settings.get("streamType", "kafka")
    stream = {
        "streamType": kind, f"stream.{kind}.topic.name": "x", f"stream.{kind}.decoder.class.name": "json",
        "stream.kafka.broker.list": "localhost:1", **settings,
    }  # fmt: skip
    columns = [{"name": "at", "dataType": "LONG", "format": "EPOCH|MILLISECONDS", "granularity": "1:DAYS"}]
    assert api.call("post", "/schemas", {"schemaName": "u", "dateTimeFieldSpecs": columns}).status_code == 200
    config = {
        "tableName": "u",
        "tableType": "REALTIME",
        "segmentsConfig": {"replication": "1", "timeColumnName": "at"},
        "tenants": {},
        "tableIndexConfig": {"streamConfigs": stream},
        "metadata": {},
    }
    with wiring.use(
        replace(
            api.world.ctx,
            check_stream=lambda c: check_stream(c, stream_access("redis://localhost:2/0", "", loopback=True)),
        )
    ):
        for path in ("/tables", "/tables/validate"):
            answer = api.call("post", path, config)
            assert answer.status_code == 400, answer.content
            assert told in answer.json()["error"]


@pytest.mark.parametrize(
    ("decoder", "nested", "said"),
    [
        ("json", {"fieldsToUnest": ["a"]}, "complexTypeConfig.fieldsToUnest"),
        ("json", {"collectionNotUnnestedToJson": "SOME"}, "complexTypeConfig.collectionNotUnnestedToJson"),
        ("csv", {"fieldsToUnnest": ["a"]}, "CSV messages have no nested values"),
    ],
)
def test_a_complex_type_config_that_no_message_can_follow_is_refused_by_name(
    api: Api, decoder: str, nested: dict[str, Any], said: str
) -> None:
    stream = {
        "streamType": "memory", "stream.memory.topic.name": "x", "stream.memory.decoder.class.name": decoder,
        "stream.memory.decoder.prop.header": "at",
    }  # fmt: skip
    columns = [{"name": "at", "dataType": "LONG", "format": "EPOCH|MILLISECONDS", "granularity": "1:DAYS"}]
    assert api.call("post", "/schemas", {"schemaName": "u", "dateTimeFieldSpecs": columns}).status_code == 200
    config = {
        "tableName": "u", "tableType": "REALTIME", "tenants": {}, "metadata": {},
        "segmentsConfig": {"replication": "1", "timeColumnName": "at"},
        "tableIndexConfig": {"streamConfigs": stream}, "ingestionConfig": {"complexTypeConfig": nested},
    }  # fmt: skip
    for path in ("/tables", "/tables/validate"):
        answer = api.call("post", path, config)
        assert (answer.status_code, said in answer.json()["error"]) == (400, True), answer.content
