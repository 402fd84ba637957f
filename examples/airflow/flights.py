"""A DAG: push the files of a day, check the rows, and go back to the day before where the check fails."""

from __future__ import annotations

from datetime import datetime

from airflow.sdk import DAG, task
from examples.airflow.operators import (
    CONNECTION,
    PinotPushOperator,
    PinotRollbackOperator,
    PinotSnapshotSensor,
    client_of,
)

SPEC = {
    "jobType": "SegmentCreationAndMetadataPush",
    "inputDirURI": "/data/flights/{{ ds }}",
    "includeFileNamePattern": "glob:**/*.csv",
    "recordReaderSpec": {"dataFormat": "csv"},
    "tableSpec": {"tableName": "flights"},
}
ENTRY = "{{ ti.xcom_pull(task_ids='push') }}"

with DAG("flights", schedule="@daily", start_date=datetime(2026, 1, 1), catchup=False) as dag:
    push = PinotPushOperator(task_id="push", spec=SPEC, table="flights", reason="the day {{ ds }}", retries=3)
    visible = PinotSnapshotSensor(task_id="visible", table="flights", entry=ENTRY, poke_interval=5)

    @task
    def check() -> None:
        """Fails the run where the snapshot has too few rows."""
        with client_of(CONNECTION) as client:
            rows = client.query("SELECT COUNT(*) FROM flights").result_table
        if rows is None or rows.rows[0][0] < 1_000:
            raise ValueError("The snapshot has fewer than 1,000 rows.")

    back = PinotRollbackOperator(
        task_id="back", table="flights", entry=ENTRY, reason="the check of {{ ds }} failed", trigger_rule="one_failed"
    )
    push >> visible >> check() >> back
