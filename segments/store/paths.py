"""Every znode path, written once, relative to the cluster's root (rule `pinot-layout`)."""

from __future__ import annotations

from typing import Final

from segments.errors import InvalidInput
from segments.names import check_node_name, shown

#: Characters; a longer path is checked name by name.
_USUAL_LENGTH: Final = 1024

TABLE_CONFIGS = "/PROPERTYSTORE/CONFIGS/TABLE"
SCHEMAS = "/PROPERTYSTORE/SCHEMAS"
SEGMENTS = "/PROPERTYSTORE/SEGMENTS"
LINEAGE = "/PROPERTYSTORE/SEGMENT_LINEAGE"
MINION_TASK_METADATA = "/PROPERTYSTORE/MINION_TASK_METADATA"
IDEAL_STATES = "/IDEALSTATES"
EXTERNAL_VIEWS = "/EXTERNALVIEW"
INSTANCES = "/INSTANCES"
LIVE_INSTANCES = "/LIVEINSTANCES"
PARTICIPANT_CONFIGS = "/CONFIGS/PARTICIPANT"
CLUSTER_CONFIGS = "/CONFIGS/CLUSTER"
STATE_MODELS = "/STATEMODELDEFS"
BROKER_RESOURCE = IDEAL_STATES + "/brokerResource"
#: Ours, outside Pinot's layout: which lineage each broker serves, and deletions that are still to be done.
ROUTING_ACKS = "/PINOTADMIN/ROUTING_ACKS"
PENDING_DELETIONS = "/PINOTADMIN/PENDING_DELETIONS"
#: Brokers that answer queries or did a moment ago: one that lost its session stays here until somebody waited for it.
BROKERS = "/PINOTADMIN/BROKERS"
#: Ephemeral: who writes the file of a segment right now.
UPLOAD_LOCKS = "/PINOTADMIN/UPLOAD_LOCKS"
#: What the checks of each replacement's new side found.
CHECKS = "/PINOTADMIN/CHECKS"
#: The completion machine of every segment that is being committed; the table's own record remembers how long its
#: commits took.
COMPLETION = "/PINOTADMIN/COMPLETION"
#: Lineage entries as they were when they left the lineage or gave up their names, while files of what they hide are
#: kept.
PAST_ENTRIES = "/PINOTADMIN/PAST_ENTRIES"
#: For which login the whole tree was closed to everybody else.
ACCESS = "/PINOTADMIN/ACCESS"
#: Fingerprints of the secrets that all processes of the cluster share.
SHARED_SECRETS = "/PINOTADMIN/SHARED_SECRETS"
#: While a backup is being restored.
RESTORE = "/PINOTADMIN/RESTORE"
#: Ephemeral: which process does what only one may do at a time.
ELECTED = "/PINOTADMIN/ELECTED"
#: Ranges of streams that were gone before they were read.
DATA_LOSS = "/PINOTADMIN/DATA_LOSS"
#: Pinot's: the segments of a table whose commit has started and not ended.
COMMITTING = "/PROPERTYSTORE/PAUSELESS_DEBUG_METADATA"
#: Replicas in ERROR that the pass has reset: how often and when.
RESET_TRIES = "/PINOTADMIN/RESET_TRIES"
#: Segments whose rows a server reads from the stream again: one document for each, by table.
REINGESTIONS = "/PINOTADMIN/REINGESTIONS"
#: Pinot's: one map field per force-commit job.
FORCE_COMMIT_JOBS = "/PROPERTYSTORE/CONTROLLER_JOBS/FORCE_COMMIT"

#: One record per table: its rebalances, of which the newest may be running.
REBALANCES = "/PINOTADMIN/REBALANCES"
#: Pinot's: one map field per rebalance.
REBALANCE_JOBS = "/PROPERTYSTORE/CONTROLLER_JOBS/TABLE_REBALANCE"
#: Servers that everything is moved away from, and those that hold nothing since: one record each.
DRAINS = "/PINOTADMIN/DRAINS"

#: Schedules of tables' tasks, and stops of whole types of task: what was started last, and whether it is stopped.
TASK_SCHEDULES = "/PINOTADMIN/TASK_SCHEDULES"

#: Ends that are carried out in the background, and (ephemeral) who is at one right now.
JOBS = "/PINOTADMIN/JOBS"
JOB_LOCKS = "/PINOTADMIN/JOB_LOCKS"

#: Of Pinot clusters, whose own records we do not write: our notes of lineage entries; starts of replacements whose
#: answer may be lost; rollbacks over several entries; reasons and planned ends of pauses; force commits of which Pinot
#: keeps no job.
ENTRY_NOTES = "/PINOTADMIN/ENTRY_NOTES"
STARTS = "/PINOTADMIN/STARTS"
ROLLBACKS = "/PINOTADMIN/ROLLBACKS"
PAUSES = "/PINOTADMIN/PAUSES"
COMMIT_JOBS = "/PINOTADMIN/COMMIT_JOBS"
#: Of Pinot clusters, too: file ingestion sessions, laid out as they are below ``MINION_TASK_METADATA`` of the own one.
INGESTION = "/PINOTADMIN/INGESTION"
#: What we keep of Pinot clusters: one tree for each, laid out as ``/PINOTADMIN`` is for the own cluster.
CLUSTERS = "/PINOTADMIN/CLUSTERS"


def cluster_root(cluster: str) -> str:
    """Root of what is ours of a Pinot cluster, in the installation's own ZooKeeper."""
    return f"{CLUSTERS}/{cluster}"


def table_config(table: str) -> str:
    """Config of a table, by its typed name."""
    return f"{TABLE_CONFIGS}/{table}"


def schema(raw: str) -> str:
    """Schema of a table, by its raw name."""
    return f"{SCHEMAS}/{raw}"


def segments(table: str) -> str:
    """Parent of the table's segment records."""
    return f"{SEGMENTS}/{table}"


def segment(table: str, name: str) -> str:
    """One segment's record."""
    return f"{SEGMENTS}/{table}/{name}"


def lineage(table: str) -> str:
    """The table's lineage entries."""
    return f"{LINEAGE}/{table}"


def ideal_state(table: str) -> str:
    """Where the table's segments should be."""
    return f"{IDEAL_STATES}/{table}"


def external_view(table: str) -> str:
    """Where the table's segments are."""
    return f"{EXTERNAL_VIEWS}/{table}"


def live_instance(instance: str) -> str:
    """Ephemeral node of a running instance."""
    return f"{LIVE_INSTANCES}/{instance}"


def participant(instance: str) -> str:
    """Ports, host and tags of an instance."""
    return f"{PARTICIPANT_CONFIGS}/{instance}"


def current_state(instance: str, session: str, table: str) -> str:
    """What the instance reports of one table."""
    return f"{INSTANCES}/{instance}/CURRENTSTATES/{session}/{table}"


def messages(instance: str) -> str:
    """Parent of the messages to an instance."""
    return f"{INSTANCES}/{instance}/MESSAGES"


def routing_acks(table: str) -> str:
    """Parent of the brokers' acknowledgements for a table."""
    return f"{ROUTING_ACKS}/{table}"


def routing_ack(table: str, broker: str) -> str:
    """The lineage that this broker serves for the table."""
    return f"{ROUTING_ACKS}/{table}/{broker}"


def broker(name: str) -> str:
    """That this broker answers queries, whether it has a session or not."""
    return f"{BROKERS}/{name}"


def elected(role: str) -> str:
    """The process that has this role now."""
    return f"{ELECTED}/{role}"


def pending_deletions(table: str) -> str:
    """Segments of the table that left the ideal state and whose record and file are still to go."""
    return f"{PENDING_DELETIONS}/{table}"


def upload_locks(table: str) -> str:
    """Parent of the table's upload locks."""
    return f"{UPLOAD_LOCKS}/{table}"


def upload_lock(table: str, segment: str) -> str:
    """Held while a segment's file and record are written."""
    return f"{UPLOAD_LOCKS}/{table}/{segment}"


def completions(table: str) -> str:
    """Parent of the table's completion machines."""
    return f"{COMPLETION}/{table}"


def completion(table: str, segment: str) -> str:
    """Where the replicas of a consuming segment stand in agreeing on its end."""
    return f"{COMPLETION}/{table}/{segment}"


def committing(table: str) -> str:
    """The list of the table's segments whose commit has started and not ended."""
    return f"{COMMITTING}/{table}"


def reingestions(table: str) -> str:
    """Parent of the table's reingestions."""
    return f"{REINGESTIONS}/{table}"


def reingestion(table: str, segment: str) -> str:
    """The latest reingestion of a segment."""
    return f"{REINGESTIONS}/{table}/{segment}"


def data_loss(table: str) -> str:
    """Ranges of the table's streams that were gone before they were read."""
    return f"{DATA_LOSS}/{table}"


def reset_tries(table: str) -> str:
    """Replicas of the table in ERROR that the pass has reset."""
    return f"{RESET_TRIES}/{table}"


def job(job_id: str) -> str:
    """One background job."""
    return f"{JOBS}/{job_id}"


def job_lock(job_id: str) -> str:
    """Held while somebody carries the job on."""
    return f"{JOB_LOCKS}/{job_id}"


def check_reports(table: str) -> str:
    """Parent of the results of the table's checks."""
    return f"{CHECKS}/{table}"


def check_report(table: str, entry: str) -> str:
    """What the checks of this lineage entry found last."""
    return f"{CHECKS}/{table}/{entry}"


def past_entries(table: str) -> str:
    """Parent of the entries of the table that are kept beyond its lineage."""
    return f"{PAST_ENTRIES}/{table}"


def past_entry(table: str, entry: str) -> str:
    """One of them."""
    return f"{PAST_ENTRIES}/{table}/{entry}"


def task_schedule(name: str) -> str:
    """The record of a table's schedule (typed name), or of a type of task."""
    return f"{TASK_SCHEDULES}/{name}"


def entry_notes(table: str) -> str:
    """Our notes of the lineage entries of a table of a Pinot cluster."""
    return f"{ENTRY_NOTES}/{table}"


def starts(table: str) -> str:
    """Parent of the starts of replacements that were sent to Pinot."""
    return f"{STARTS}/{table}"


def start(table: str, intent: str) -> str:
    """One start, by the id that its caller gave it."""
    return f"{STARTS}/{table}/{intent}"


def rollback(table: str) -> str:
    """The rollback over several entries that is, or was last, under way."""
    return f"{ROLLBACKS}/{table}"


def pause(table: str) -> str:
    """Who paused the table and why, and when it is to go on."""
    return f"{PAUSES}/{table}"


def commit_job(job_id: str) -> str:
    """A force commit of which Pinot keeps no job."""
    return f"{COMMIT_JOBS}/{job_id}"


def rebalances(table: str) -> str:
    """The rebalances of one table."""
    return f"{REBALANCES}/{table}"


def drain(server: str) -> str:
    """The drain of one server."""
    return f"{DRAINS}/{server}"


def ingestion_task(table: str, root: str = MINION_TASK_METADATA) -> str:
    """What is known of a table's file ingestion: the current session, and what was ingested; sessions are below it.
    ``root`` is ``INGESTION`` for a Pinot cluster.
    """
    return f"{root}/{table}/FileIngestionTask"


def ingestion_sessions(table: str, root: str = MINION_TASK_METADATA, *, consistent: bool = True) -> str:
    """Parent of the table's sessions; those whose files appear one by one are apart."""
    return f"{ingestion_task(table, root)}/{'consistentPush' if consistent else 'runs'}"


def ingestion_session(table: str, session: str, root: str = MINION_TASK_METADATA) -> str:
    """One session, by its id."""
    return f"{ingestion_sessions(table, root, consistent=session.startswith('cp_'))}/{session}"


def parent_of(path: str) -> str:
    """``/a/b`` -> ``/a``; ``/a`` -> ``/``."""
    return path.rpartition("/")[0] or "/"


def covers(prefix: str, parent: str) -> bool:
    """Does a watch on ``prefix`` hear of the parent's children, or lie below it?"""
    return prefix in ("/", parent) or parent.startswith(prefix + "/") or prefix.startswith(parent + "/")


def check_path(path: str) -> str:
    """The path, or InvalidInput when ZooKeeper would refuse it."""
    if path != "/" and (not path.startswith("/") or path.endswith("/") or "//" in path):
        raise InvalidInput(
            f"'{shown(path)}' is not a znode path.", remedy="Begin with '/', do not end with '/', leave no name empty."
        )
    if not path.isascii() or not path.isprintable() or "/." in path or len(path) > _USUAL_LENGTH:
        for name in path.split("/")[1:] if path != "/" else ():
            check_node_name(name)
    return path
