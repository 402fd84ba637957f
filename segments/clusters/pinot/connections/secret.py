"""The secret of a connection, read where its cluster's row says that it is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from segments.gateways.pinot.refusals import REFUSED, ControllerFault
from segments.processes.machine.private_file import read_json
from segments.services.clusters.cluster_secrets import ENV, FILE, FROM_FILE


def find_secret(data_dir: Path, cluster: str, source: str, environ: Mapping[str, str] = os.environ) -> str:
    """The secret as its source names it; ``cluster`` with ``ZOOKEEPER`` behind it: of its ZooKeeper. ControllerFault,
    saying where it should be, when it is not there.
    """
    if source.startswith(ENV):
        secret, where = (
            environ.get(source.removeprefix(ENV), ""),
            f"the environment variable {source.removeprefix(ENV)}",
        )
    elif source.startswith(FROM_FILE):
        secret, where = _content(source.removeprefix(FROM_FILE)), f"the file {source.removeprefix(FROM_FILE)}"
    else:
        secret, where = (
            str(read_json(data_dir / FILE).get(cluster, "")),
            f"the private file {FILE} of the data directory",
        )
    if not secret:
        name, _, part = cluster.partition("/")
        text = f"The secret of cluster '{name}'{' for its ZooKeeper' if part else ''} is not in {where}."
        raise ControllerFault(REFUSED, text, remedy="Put it there, or give it again with 'cluster change'.")
    return secret


def _content(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
