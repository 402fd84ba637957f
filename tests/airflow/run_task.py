"""Runs one task of the example in Airflow's own environment: ``python run_task.py NAME ARGUMENTS_AS_JSON``. Prints its
outcome as JSON.
"""

from __future__ import annotations

import json
import sys

from airflow.sdk import DAG

from examples.airflow import operators


def main() -> None:
    """``NAME`` is a class of the example."""
    name, given = sys.argv[1], json.loads(sys.argv[2])
    with DAG("test", schedule=None):
        made = getattr(operators, name)(task_id="it", **given)
    context = {"run_id": "run-1"}
    try:
        print(json.dumps(made.poke(context) if hasattr(made, "poke") else made.execute(context)))
    except operators.AirflowException as error:
        print(json.dumps({"failed": str(error)}))


if __name__ == "__main__":
    main()
