"""Pause, resume and force commit as every kind of cluster offers them: our own, and Pinots of two versions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from segments.domain.realtime.force_commit import BatchSettings
from segments.errors import InvalidInput, NotFound, PinotAdminError, StateConflict
from segments.models import AuditEvent
from segments.names import REALTIME, TableName
from segments.services.engine.consumption import PauseChanged
from segments.services.realtime import consumption, force_commit
from segments.services.realtime.consuming_segments import StartFrom
from segments.services.realtime.force_commit import Wanted
from segments.services.realtime.realtime_validation import keep_consumption
from segments.services.set_aside.keeping import check_table
from segments.services.tables.table_record import read_table_config
from segments.services.upkeep import validation
from segments.store.records import messages
from tests.services.realtime.kinds import EMBEDDED, Kind
from tests.services.realtime_world import ANN, TABLE

pytestmark = pytest.mark.django_db
MINUTE = 60_000
NOBODY = TableName("nobody", REALTIME)
#: Every change of consumption, of a table, by what is recorded of it.
CHANGES: dict[str, Callable[[Kind, TableName], object]] = {
    "pauseConsumption": lambda c, t: consumption.pause_table(c.ctx, t, actor=ANN),
    "resumeConsumption": lambda c, t: consumption.resume_table(c.ctx, t, actor=ANN),
    "forceCommit": lambda c, t: commit(c, t),
}


def commit(cluster: Kind, table: TableName = TABLE, wanted: Wanted | None = None) -> str:
    answer = force_commit.force_commit(cluster.ctx, table, wanted or Wanted(), BatchSettings(), actor=ANN)
    assert (answer["forceCommitStatus"], answer["jobMetaZKWriteStatus"]) == ("SUCCESS", "SUCCESS")
    return str(answer["forceCommitJobId"])


def events(cluster: Kind, outcome: str = "done") -> list[str]:
    """What is on record of changes that were made through us, in order."""
    found = AuditEvent.objects.filter(cluster=cluster.ctx.cluster, outcome=outcome, actor="ann").order_by("pk")
    return [e.action for e in found if e.action in (*CHANGES, "pauseTopicConsumption", "resumeTopicConsumption")]


def test_a_pause_keeps_who_and_why_and_a_resume_ends_it(cluster: Kind) -> None:
    paused = consumption.pause_table(cluster.ctx, TABLE, comment="new schema", actor=ANN)
    assert (paused["pauseFlag"], paused["comment"], paused["actor"]) == (True, "new schema", "ann")
    assert paused["consumingSegments"] == cluster.inside.consuming
    assert consumption.pause_status(cluster.ctx, TABLE)["comment"] == "new schema"
    cluster.inside.commit("150")
    resumed = consumption.resume_table(cluster.ctx, TABLE, actor=ANN)
    assert (resumed["pauseFlag"], resumed["consumingSegments"]) == (False, cluster.inside.consuming)
    assert len(cluster.inside.consuming) == 2
    assert events(cluster) == ["pauseConsumption", "resumeConsumption"]
    event = AuditEvent.objects.get(cluster=cluster.ctx.cluster, action="pauseConsumption")
    assert (event.reason, event.detail["comment"]) == ("because", "new schema")


def test_without_a_comment_the_reason_is_the_comment(cluster: Kind) -> None:
    assert consumption.pause_table(cluster.ctx, TABLE, actor=ANN)["comment"] == "because"


def test_a_pause_again_renews_comment_and_time(cluster: Kind) -> None:
    before = consumption.pause_table(cluster.ctx, TABLE, comment="x", actor=ANN)["timestamp"]
    cluster.inside.now += MINUTE
    again = consumption.pause_table(cluster.ctx, TABLE, comment="y", actor=ANN)
    assert (again["pauseFlag"], again["comment"]) == (True, "y")
    assert again["timestamp"] > before


def test_a_pause_is_sent_again_while_something_consumes_and_not_afterwards(cluster: Kind) -> None:
    consumption.pause_table(cluster.ctx, TABLE, actor=ANN)
    lost = cluster.inside.messages()[0]
    messages.delete(cluster.inside.memory, lost)
    cluster.inside.now += MINUTE
    assert "2 segments still consume" in " ".join(keep_consumption(cluster.ctx))
    assert [m.simple["segmentNames"] for m in cluster.inside.messages()] == [lost.simple["segmentNames"]]
    cluster.inside.commit()
    cluster.inside.now += MINUTE
    assert keep_consumption(cluster.ctx) == []


def test_a_planned_end_of_a_pause_resumes_the_table_once(cluster: Kind) -> None:
    end = cluster.inside.now + MINUTE
    paused = consumption.pause_table(cluster.ctx, TABLE, resume_at_ms=end, actor=ANN)
    assert paused["resumeAtMs"] == consumption.pause_status(cluster.ctx, TABLE)["resumeAtMs"] == end
    cluster.inside.commit()
    assert keep_consumption(cluster.ctx) == []
    cluster.inside.now += MINUTE
    assert "planned end of its pause has come" in " ".join(keep_consumption(cluster.ctx))
    status = consumption.pause_status(cluster.ctx, TABLE)
    assert (status["pauseFlag"], len(status["consumingSegments"]), "resumeAtMs" in status) == (False, 2, False)
    assert keep_consumption(cluster.ctx) == []
    ours = AuditEvent.objects.filter(cluster=cluster.ctx.cluster, action="resumeConsumption")
    assert [event.actor for event in ours] == ["system"]


def test_a_planned_end_in_the_past_is_refused_and_nothing_is_paused(cluster: Kind) -> None:
    with pytest.raises(InvalidInput, match="past"):
        consumption.pause_table(cluster.ctx, TABLE, resume_at_ms=cluster.inside.now, actor=ANN)
    assert not cluster.inside.pause.paused


def test_a_planned_end_is_void_when_somebody_resumed_before(cluster: Kind) -> None:
    consumption.pause_table(cluster.ctx, TABLE, resume_at_ms=cluster.inside.now + MINUTE, actor=ANN)
    cluster.inside.commit()
    consumption.resume_table(cluster.inside.ctx, TABLE, actor=ANN)
    consumption.pause_table(cluster.inside.ctx, TABLE, actor=replace(ANN, name="bob"))
    cluster.inside.commit()
    consumption.resume_table(cluster.inside.ctx, TABLE, actor=ANN)
    cluster.inside.now += MINUTE
    assert "has come" not in " ".join(keep_consumption(cluster.ctx))
    assert "resumeAtMs" not in consumption.pause_status(cluster.ctx, TABLE)


def test_what_a_pass_decided_from_an_older_pause_changes_nothing(cluster: Kind) -> None:
    with pytest.raises(PauseChanged, match="meanwhile"):
        consumption.resume_table(cluster.ctx, TABLE, expected=lambda state: state.paused, actor=ANN)
    with pytest.raises(PauseChanged, match="meanwhile"):
        consumption.pause_table(cluster.ctx, TABLE, expected=lambda state: state.paused, actor=ANN)
    assert not cluster.inside.pause.paused


@pytest.mark.parametrize("action", CHANGES)
def test_a_table_that_is_not_there_is_not_found_and_the_refusal_is_on_record(cluster: Kind, action: str) -> None:
    with pytest.raises(NotFound):
        CHANGES[action](cluster, NOBODY)
    assert (events(cluster), events(cluster, "refused")) == ([], [action])
    with pytest.raises(NotFound):
        consumption.pause_status(cluster.ctx, NOBODY)


@pytest.mark.parametrize("action", CHANGES)
def test_a_disabled_table_is_refused(cluster: Kind, action: str) -> None:
    cluster.inside.change_ideal(HELIX_ENABLED="false")
    before = cluster.inside.ideal
    with pytest.raises(PinotAdminError, match=r"t_REALTIME is disabled") as refused:
        CHANGES[action](cluster, TABLE)
    assert refused.value.status < 500
    assert cluster.inside.ideal == before
    assert events(cluster, "refused") == [action]


@pytest.mark.parametrize("word", ["smallest", "largest", "lastConsumed"])
def test_a_resume_takes_pinots_three_words(cluster: Kind, word: str) -> None:
    consumption.pause_table(cluster.ctx, TABLE, actor=ANN)
    cluster.inside.commit("150").streams.topics["a"] = {0: [100, 500], 1: [100, 500]}
    consumption.resume_table(cluster.ctx, TABLE, start=StartFrom(word), actor=ANN)  # type: ignore[arg-type]
    begins = {"smallest": "100", "largest": "500", "lastConsumed": "150"}[word]
    starts = {cluster.inside.fields(s)["segment.realtime.startOffset"] for s in cluster.inside.consuming}
    assert starts == {begins}


def test_one_topic_pauses_alone_where_the_cluster_can(made: Callable[..., Kind]) -> None:
    cluster = made(partitions=1, topics=2)
    for unknown in (-1, 2):
        with pytest.raises(InvalidInput, match=f"there is no topic {unknown}"):
            consumption.pause_topics(cluster.ctx, TABLE, [unknown], actor=ANN)
    assert "pauseState" not in cluster.inside.ideal.simple
    if cluster.name == "0.11.0":
        with pytest.raises(StateConflict, match="can pause a whole table only"):
            consumption.pause_topics(cluster.ctx, TABLE, [1], actor=ANN)
        assert (events(cluster, "refused"), cluster.inside.pause.inactive_topics) == (["pauseTopicConsumption"], ())
        return
    assert consumption.pause_topics(cluster.ctx, TABLE, [1], actor=ANN)["indexOfInactiveTopics"] == [1]
    assert cluster.inside.pause.inactive_topics == (1,)
    assert consumption.resume_topics(cluster.ctx, TABLE, [1], actor=ANN)["indexOfInactiveTopics"] == []
    assert events(cluster) == ["pauseTopicConsumption", "resumeTopicConsumption"]


def test_single_partitions_and_offsets_by_hand_are_for_our_own_cluster(cluster: Kind) -> None:
    consumption.pause_table(cluster.ctx, TABLE, actor=ANN)
    cluster.inside.commit("150").streams.topics["a"] = {0: [0, 500], 1: [0, 500]}
    chosen = StartFrom("lastConsumed", {1: "170"})
    if cluster.name == EMBEDDED:
        consumption.resume_table(cluster.ctx, TABLE, start=chosen, actor=ANN)
        assert consumption.pause_partitions(cluster.ctx, TABLE, [1], actor=ANN)["pausedPartitions"] == [1]
        return
    with pytest.raises(StateConflict, match="lastConsumed, smallest or largest only"):
        consumption.resume_table(cluster.ctx, TABLE, start=chosen, actor=ANN)
    with pytest.raises(StateConflict, match="no pause of single partitions"):
        consumption.pause_partitions(cluster.ctx, TABLE, [1], actor=ANN)
    with pytest.raises(StateConflict, match="no pause of single partitions"):
        consumption.resume_partitions(cluster.ctx, TABLE, [1], actor=ANN)
    assert (events(cluster, "refused"), cluster.inside.consuming) == (["resumeConsumption"], [])


def test_a_force_commit_counts_down_what_is_not_committed(cluster: Kind) -> None:
    first, second = cluster.inside.consuming
    job = commit(cluster)
    status = force_commit.job_status(cluster.ctx, job)
    assert (status["jobId"], status["tableName"], status["jobType"]) == (job, TABLE.typed, "FORCE_COMMIT")
    assert status["segmentsYetToBeCommitted"] == [first, second]
    cluster.inside.done(first, "9").set_row(first, "ONLINE")
    assert force_commit.job_status(cluster.ctx, job)["segmentsYetToBeCommitted"] == [second]
    cluster.inside.commit()
    assert force_commit.job_status(cluster.ctx, job)["numberOfSegmentsYetToBeCommitted"] == 0
    [event] = AuditEvent.objects.filter(cluster=cluster.ctx.cluster, action="forceCommit")
    assert (event.detail["job"], event.detail["segments"], event.detail["count"]) == (job, [first, second], 2)


def test_an_unknown_job_is_not_found(cluster: Kind) -> None:
    with pytest.raises(NotFound, match="nobody"):
        force_commit.job_status(cluster.ctx, "nobody")


def test_chosen_partitions_are_committed_where_the_cluster_can(cluster: Kind) -> None:
    if cluster.name == "0.11.0":
        with pytest.raises(StateConflict, match="commits all consuming segments of a table or none"):
            commit(cluster, wanted=Wanted(partitions=[1]))
        assert (events(cluster, "refused"), cluster.inside.messages()) == (["forceCommit"], [])
        return
    commit(cluster, wanted=Wanted(partitions=[1]))
    assert [m.simple["segmentNames"] for m in cluster.inside.messages()] == [cluster.inside.consuming[1]]
    with pytest.raises(InvalidInput, match="partitions: 7"):
        commit(cluster, wanted=Wanted(partitions=[0, 7]))


def test_the_validation_pass_writes_nothing_over_a_table_that_consumes(cluster: Kind) -> None:
    before = cluster.inside.ideal
    assert not any("consume" in s for s in validation.run(cluster.ctx, TABLE))
    assert cluster.inside.ideal == before


def test_messages_that_gave_no_row_are_kept_by_our_own_cluster_only(cluster: Kind) -> None:
    assert read_table_config(cluster.ctx, TABLE).table == TABLE
    if cluster.name == EMBEDDED:
        check_table(cluster.ctx, TABLE)
        return
    with pytest.raises(InvalidInput, match="servers of Apache Pinot count them and keep none"):
        check_table(cluster.ctx, TABLE)
