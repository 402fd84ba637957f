"""Commands that change nothing."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from pinotadmin_client.client import Client
from pinotadmin_client.commands.output import moment, write_json, write_table
from pinotadmin_client.errors import ApiError


def tables(client: Client, given: Namespace) -> None:
    """The names of the tables."""
    found = client.tables.names()
    if given.json:
        write_json(found)
    else:
        write_table(["TABLE"], [[name] for name in found.tables])


def snapshots(client: Client, given: Namespace) -> None:
    """The lineage entries of a table, newest first."""
    entries = client.entries(given.table, type_=given.type)
    if given.json:
        write_json(entries)
        return
    rows = [
        [entry_id, e.state, moment(e.timestamp), len(e.segments_from), len(e.segments_to)]
        for entry_id, e in reversed(entries.items())
    ]
    write_table(["ENTRY", "STATE", "CHANGED", "FROM", "TO"], rows)


def history(client: Client, given: Namespace) -> None:
    """The snapshots of a table, newest first."""
    found = client.snapshots.listed(given.table, limit=given.limit, before=given.before, type_=given.type)
    if given.json:
        write_json(found)
        return
    rows = [
        [s.number, s.at[:19], s.made_by, s.actor, s.rows, s.segments, s.state, s.reason or s.why]
        for s in found.snapshots
    ]
    write_table(["SNAPSHOT", "AT", "MADE BY", "ACTOR", "ROWS", "SEGMENTS", "STATE", "REASON"], rows)


def query(client: Client, given: Namespace) -> None:
    """The answer to a query. Raises ApiError where the broker reports a failure."""
    answer = client.query(given.sql)
    if given.json:
        write_json(answer)
    if answer.exceptions:
        error = ApiError(200, answer.exceptions[0].message)
        error.is_shown = given.json
        raise error
    if not given.json and answer.result_table is not None:
        write_table(answer.result_table.data_schema.column_names, answer.result_table.rows)


def audit(client: Client, given: Namespace) -> None:
    """Who did what, newest first."""
    wanted: dict[str, Any] = {"target": given.target, "actor": given.actor, "action": given.action}
    found = client.audit.events(limit=given.limit, **wanted)
    if given.json:
        write_json(found)
        return
    rows = [[e.at[:19], e.actor, e.action, e.target, e.outcome, e.reason] for e in found.events]
    write_table(["AT", "ACTOR", "ACTION", "TARGET", "OUTCOME", "REASON"], rows)
