"""Runs a real supervisor over small Python programs, as a process that tests may signal and kill.

Usage: ``python -m tests.processes.tiny_cluster DIR`` with the children in ``DIR/children.json``.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path

from segments.errors import PinotAdminError
from segments.processes.child import ChildSpec, Timing
from segments.processes.child_run import Command
from segments.processes.endpoints import Endpoints, EndpointsFile, ServerEndpoint
from segments.processes.lock import DataDirectoryLock, wait_until_unlocked
from segments.processes.logs import Terminal
from segments.processes.machine.database_file import DatabaseFile
from segments.processes.probes import Probe, beat_probe
from segments.processes.supervisor import Supervisor

TIMING = Timing(first_delay=0.1, longest_delay=0.4, proven=30.0, probe_every=0.02, recheck_every=0.1, misses=2)
ENDPOINTS = Endpoints(
    web="http://127.0.0.1:1",
    zookeeper="127.0.0.1:2",
    redis="redis://127.0.0.1:3/0",
    cluster="tiny",
    deep_store="file:///nowhere",
    authorization="Basic eA==",
    servers=(ServerEndpoint("server-1", "Server_127.0.0.1_4", "http://127.0.0.1:5"),),
)


def file_probe(path: Path) -> Probe:
    """Ready as long as the file is there."""

    async def probe() -> bool:
        return path.exists()

    return probe


def main(folder: Path) -> int:
    """Run the children of ``folder`` until a signal."""
    lock = DataDirectoryLock(folder / "up.lock")
    (folder / "run").mkdir(exist_ok=True)
    wait_until_unlocked(folder / "run" / "guardian.lock", 10)
    specs = []
    for item in json.loads((folder / "children.json").read_text()):
        ready = folder / "run" / f"{item['name']}.ready"
        specs.append(
            ChildSpec(
                item["name"],
                Command((sys.executable, "-S", "-c", item["code"], str(folder), item["name"], str(ready)), {}, folder),
                probe=None if item.get("once") else file_probe(ready),
                alive=beat_probe(folder / item["beat"], 0.5) if "beat" in item else None,
                ready_file=ready,
                after=tuple(item.get("after", ())),
                once=item.get("once", False),
                aliases=tuple(item.get("aliases", ())),
                grace=item.get("grace", 5.0),
                wave=item.get("wave", ""),
                timing=replace(TIMING, silence=item.get("silence", TIMING.silence)),
            )
        )
    terminal = Terminal()
    try:
        endpoints = EndpointsFile(folder / "endpoints.json", ENDPOINTS)
        supervisor = Supervisor(folder, specs, endpoints, terminal, database=DatabaseFile(folder))
        return asyncio.run(supervisor.run())
    finally:
        terminal.close()
        lock.release()


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[1])))
    except PinotAdminError as error:
        sys.exit(str(error))
