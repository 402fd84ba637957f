"""``pinotadmin config spark``: what Spark would be started with here; what is wrong with it, in Spark's own words."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from segments.errors import PinotAdminError
from segments.processes.machine.java import find_java, spark_java_home

if TYPE_CHECKING:
    from segments.spark.cluster_settings import ClusterSettings


def show(master: str, data_dir: Path, *, as_json: bool) -> int:
    """Print all of it; the exit status is 1 where something is wrong, or Java is not there."""
    from segments.spark.cluster_settings import cluster_settings  # heavy: PySpark, for this command alone

    try:
        (data_dir / "run").mkdir(parents=True, exist_ok=True, mode=0o700)
        os.environ["JAVA_HOME"] = str(spark_java_home(find_java(os.environ), data_dir / "run" / "java-home"))
        found = cluster_settings(master)
    except (PinotAdminError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stdout.write(json.dumps(asdict(found), indent=2) + "\n" if as_json else _text(found))
    return 1 if found.is_wrong else 0


def _text(found: ClusterSettings) -> str:
    lines = []
    for one in found.settings:
        lines += [f"{one.key} = {one.value}", f"    {one.source}"]
        lines += [f"    WRONG: {one.problem}"] if one.problem else []
    lines += ["", "The pod of an executor:", found.pod.rstrip()] if found.pod else []
    lines += [f"error: {problem}" for problem in found.problems]
    return "\n".join([*lines, "" if found.is_wrong else "Nothing is wrong.", ""])
