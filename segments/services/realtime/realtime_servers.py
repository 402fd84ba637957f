"""The servers of a realtime table's tenant, and messages to those that consume."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Mapping

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.realtime_assignment import in_order
from segments.domain.segments.ideal_state import CONSUMING
from segments.domain.tables.server_tags import consuming_tag
from segments.domain.tables.table_config import TableConfig
from segments.errors import PinotAdminError
from segments.services.core.context import Context
from segments.store.records import messages
from segments.store.records.instances import LiveInstance, instance_configs, live_instances

log = logging.getLogger(__name__)


def tenant_servers(ctx: Context, config: TableConfig) -> list[str]:
    """Enabled servers with the tag of those that consume the table, alive or not, in the table's order."""
    tag = consuming_tag(config)
    found = instance_configs(ctx.store)
    names = [n for n, c in found.items() if n.startswith("Server_") and c.is_enabled and tag in c.tags]
    return in_order(config.table.typed, names)


def consuming_by_server(ideal: ZNRecord, segments: Collection[str]) -> dict[str, list[str]]:
    """{server: those of ``segments`` that it is to consume}; replicas that are ONLINE or OFFLINE are left out."""
    found: dict[str, list[str]] = defaultdict(list)
    for segment in sorted(segments):
        for instance, state in ideal.maps.get(segment, {}).items():
            if state == CONSUMING:
                found[instance].append(segment)
    return dict(found)


def send_force_commit(ctx: Context, ideal: ZNRecord, segments: Collection[str]) -> set[str]:
    """Ask the live servers to commit these segments where they are; returns those that were sent to at least one.

    Nothing depends on the message: servers see a pause in the ideal state without it, and who watches over a pause
    or a job sends again while a segment still consumes (rule `resent-until-done`). A server that has not read the last
    message yet gets no second one.
    """
    wanted = consuming_by_server(ideal, segments)
    if not wanted:
        return set()
    live = live_instances(ctx.store)
    notified: set[str] = set()
    for instance, names in wanted.items():
        if instance in live and _notify(ctx, ideal.id, live[instance], names):
            notified |= set(names)
    return notified


def _notify(ctx: Context, typed: str, live: LiveInstance, names: list[str]) -> bool:
    text = ",".join(names)
    try:
        for waiting in messages.read(ctx.store, live.instance):
            if _is_same(waiting.simple, waiting.subtype, typed, text) and waiting.is_for(live.session):
                return True
        messages.send(
            ctx.store,
            live.instance,
            messages.FORCE_COMMIT,
            resource=typed,
            session=live.session,
            new_id=ctx.new_id,
            now_ms=ctx.clock(),
            cluster=ctx.cluster,
            fields={"tableName": typed, "segmentNames": text},
        )
    except PinotAdminError:
        log.exception("Instance %s could not be notified to commit %s of %s.", live.instance, text, typed)
        return False
    return True


def _is_same(simple: Mapping[str, str], subtype: str, typed: str, names: str) -> bool:
    return subtype == messages.FORCE_COMMIT and simple.get("tableName") == typed and simple.get("segmentNames") == names
