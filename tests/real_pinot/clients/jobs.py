"""Runs Pinot's own Java programs: its batch ingestion job, and scripts in Groovy (which is among its jars) that call
its client classes.
"""

from __future__ import annotations

import base64
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.maven import Jars
from tests.real_pinot.cluster import ADMINISTRATOR, java_command

_STANDALONE = "org.apache.pinot.plugin.ingestion.batch.standalone"
#: Seconds for one job; about eight on a quiet machine, nearly all of it the start of Java.
_PATIENCE = 240


@dataclass(frozen=True)
class Target:
    """A controller as Pinot's clients know it."""

    controller: str
    authorization: str = ""

    @property
    def user_and_password(self) -> tuple[str, str]:
        user, password = base64.b64decode(self.authorization.removeprefix("Basic ")).decode().split(":", 1)
        return user, password


def job_spec(target: Target, table: str, kind: str, folder: Path, **push: Any) -> dict[str, Any]:
    """The specification of a standalone job over ``folder``/in/*.csv whose segments go to ``folder``/out."""
    csv = "org.apache.pinot.plugin.inputformat.csv.CSVRecordReader"
    return {
        "executionFrameworkSpec": {
            "name": "standalone",
            "segmentGenerationJobRunnerClassName": f"{_STANDALONE}.SegmentGenerationJobRunner",
            **{
                f"segment{mode}PushJobRunnerClassName": f"{_STANDALONE}.Segment{mode}PushJobRunner"
                for mode in ("Tar", "Uri", "Metadata")
            },
        },
        "jobType": kind,
        "inputDirURI": f"file://{folder}/in/",
        "includeFileNamePattern": "glob:**/*.csv",
        "outputDirURI": f"file://{folder}/out/",
        "overwriteOutput": True,
        "pinotFSSpecs": [{"scheme": "file", "className": "org.apache.pinot.spi.filesystem.LocalPinotFS"}],
        "recordReaderSpec": {"dataFormat": "csv", "className": csv, "configClassName": f"{csv}Config"},
        "tableSpec": {
            "tableName": table,
            "schemaURI": f"{target.controller}/tables/{table}/schema",
            "tableConfigURI": f"{target.controller}/tables/{table}",
        },
        "pinotClusterSpecs": [{"controllerURI": target.controller}],
        "pushJobSpec": {"pushAttempts": 2, "pushRetryIntervalMillis": 1000, **push},
    }


def write_rows(folder: Path, files: dict[str, list[tuple[Any, ...]]], header: str = "v,n,day") -> None:
    """CSV files below ``folder``/in."""
    (folder / "in").mkdir(parents=True, exist_ok=True)
    for name, rows in files.items():
        (folder / "in" / name).write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")


def write_spec(spec: dict[str, Any], folder: Path) -> Path:
    """The specification as a file; JSON is YAML."""
    path = folder / "job.yaml"
    path.write_text(json.dumps(spec, indent=1))
    return path


def run_job(jars: Jars, target: Target, spec: dict[str, Any], folder: Path, *, password: str | None = None) -> str:
    """Run the job with ``LaunchDataIngestionJob``, as its users do; what it printed. AssertionError when it fails."""
    path = write_spec(spec, folder)
    user, right = target.user_and_password
    arguments = ["LaunchDataIngestionJob", "-jobSpecFile", str(path), "-user", user, "-password", password or right]
    return run_java(java_command(jars, "512m", ADMINISTRATOR, *arguments), folder)


def run_script(jars: Jars, script: Path, folder: Path, *arguments: str) -> str:
    """Run a Groovy script with these jars; what it printed. AssertionError when it fails."""
    return run_java(java_command(jars, "512m", "groovy.ui.GroovyMain", str(script), *arguments), folder)


def run_java(command: list[str], folder: Path) -> str:
    """One Java program to its end."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    return done.stdout + done.stderr
