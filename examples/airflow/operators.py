"""Airflow tasks for pinotadmin: push files and wait, wait until queries see a snapshot, roll back.

The connection ``pinotadmin_default`` has the address as its host (``http://pinotadmin:9000``) and an API token as its
password; without a token, a login and its password.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import BaseHook, BaseOperator, BaseSensorOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from pinotadmin_client import Client

CONNECTION = "pinotadmin_default"
#: States of a push that one with the same reason is not started next to.
_GOING_ON = ("QUEUED", "RUNNING", "BLOCKED", "DONE")


def client_of(connection: str) -> Client:
    """A client of the installation that the Airflow connection names."""
    found = BaseHook.get_connection(connection)
    port = f":{found.port}" if found.port else ""
    address = found.host if "://" in (found.host or "") else f"{found.schema or 'http'}://{found.host}{port}"
    secret = found.password or ""
    if found.login:
        return Client(str(address), user=found.login, password=secret)
    return Client(str(address), token=secret)


class PinotPushOperator(BaseOperator):
    """Pushes the files of a job specification into ``table`` (its raw name) and waits until queries see them. Returns
    the id of the replacement, empty where the table has none.

    A retry of the task finds the push of its run by the reason and goes on waiting for it: nothing is pushed twice.
    """

    template_fields: Sequence[str] = ("spec", "table", "reason")

    def __init__(
        self, *, spec: Mapping[str, Any], table: str, reason: str = "", connection: str = CONNECTION,
        timeout_s: float = 3600.0, poll_s: float = 5.0, **of_airflow: Any,
    ) -> None:  # fmt: skip
        super().__init__(**of_airflow)
        self.spec, self.table, self.reason, self.connection = dict(spec), table, reason, connection
        self.timeout_s, self.poll_s = timeout_s, poll_s

    def execute(self, context: Mapping[str, Any]) -> str:
        """Start or find the push, then wait."""
        why = f"{self.reason or 'Airflow'} ({self.dag_id}.{self.task_id}, run {context['run_id']})"
        with client_of(self.connection) as client:
            there = [p for p in client.pushes.newest(table_name=self.table).pushes if p.reason == why]
            push = next((p for p in there if p.state in _GOING_ON), None)
            started = push or client.pushes.start(spec=self.spec, reason=why)
            found = client.wait_for_push(started.id, timeout_s=self.timeout_s, poll_s=self.poll_s)
        if found.state == "BLOCKED":
            raise AirflowFailException(f"Push {found.id} waits for a decision about its table's checks: {found.error}")
        if found.state != "DONE":
            raise AirflowException(f"Push {found.id} is {found.state}: {found.error}")
        return found.segment_lineage_entry_id


class PinotSnapshotSensor(BaseSensorOperator):
    """Waits until queries on ``table`` see the new side of the replacement ``entry``. Fails at once where it was rolled
    back.
    """

    template_fields: Sequence[str] = ("table", "entry")

    def __init__(self, *, table: str, entry: str, connection: str = CONNECTION, **of_airflow: Any) -> None:
        super().__init__(**of_airflow)
        self.table, self.entry, self.connection = table, entry, connection

    def poke(self, context: Mapping[str, Any]) -> bool:
        """Has it been switched?"""
        with client_of(self.connection) as client:
            found = client.entries(self.table).get(self.entry)
        if found is not None and found.state == "REVERTED":
            raise AirflowFailException(f"Replacement {self.entry} of {self.table} was rolled back.")
        return found is not None and found.state == "COMPLETED"


class PinotRollbackOperator(BaseOperator):
    """Queries on ``table`` see again what they saw before the replacement ``entry``, and nothing of what was built on
    it. A retry finds it rolled back and changes nothing.
    """

    template_fields: Sequence[str] = ("table", "entry", "reason")

    def __init__(self, *, table: str, entry: str, reason: str, connection: str = CONNECTION, **of_airflow: Any) -> None:
        super().__init__(**of_airflow)
        self.table, self.entry, self.reason, self.connection = table, entry, reason, connection

    def execute(self, context: Mapping[str, Any]) -> list[str]:
        """The replacements that were reverted."""
        with client_of(self.connection) as client:
            found = client.entries(self.table).get(self.entry)
            if found is not None and found.state == "REVERTED":
                return []
            return list(client.lineage.roll_back(self.table, to=self.entry, reason=self.reason).reverted)
