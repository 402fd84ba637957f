"""For commands that work in their own process next to a running ``up``, whose parts may have ports of their own."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings

from segments.processes.endpoints import FILE_NAME
from segments.processes.machine.private_file import read_json


def add_data_dir(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The option that names another installation of this machine."""
    parser.add_argument(
        "--data-dir", type=Path, default=Path(settings.DATA_DIR), help="of the installation (default: %(default)s)"
    )
    return parser


def use_installation(data_dir: Path) -> None:
    """Work on the installation of this folder: on what its ``up`` started, where that runs and nothing else is set.
    For another folder than that of the settings, which are read when a process starts, this very command begins again
    and this process ends with its status.
    """
    data_dir = data_dir.absolute()
    if data_dir != Path(settings.DATA_DIR):
        environment = {**os.environ, "PINOTADMIN_DATA_DIR": str(data_dir)}
        sys.exit(subprocess.run([sys.executable, *sys.argv], env=environment, check=False).returncode)  # noqa: S603 - as said
    found = read_json(data_dir / FILE_NAME)
    if not found.get("zookeeper") or "ZOOKEEPER_URL" in os.environ:
        return
    settings.ZOOKEEPER_URL, settings.ZOOKEEPER_AUTH = found["zookeeper"], found.get("zookeeper_auth", "")
    if "DEEP_STORE_URL" not in os.environ and "*" not in (found.get("deep_store") or "*"):
        settings.DEEP_STORE_URL = found["deep_store"]
