"""Secrets of Pinot clusters: in a private file of the data directory, or where the person said; never in database, log,
URL or answer.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from segments.gateways.pinot.refusals import REFUSED, ControllerFault
from segments.processes.machine.private_file import changing_json, read_json

FILE: Final = "clusters.json"
#: Sources of a secret, as kept in ``Cluster.auth_source``.
STORED: Final = "stored"
#: Whose secret it is: put behind a cluster's name, which holds no slash, so that both are kept side by side.
CONTROLLER: Final = ""
ZOOKEEPER: Final = "/zookeeper"
ENV: Final = "env:"
FROM_FILE: Final = "file:"


def store_secret(data_dir: Path, cluster: str, secret: str) -> None:
    """Keep it for this cluster."""
    with changing_json(data_dir / FILE) as known:
        known[cluster] = secret


def forget_secret(data_dir: Path, cluster: str) -> None:
    """Keep it no longer; fine when there is none."""
    with changing_json(data_dir / FILE) as known:
        known.pop(cluster, None)


def find_secret(data_dir: Path, cluster: str, source: str, environ: Mapping[str, str] = os.environ) -> str:
    """The secret as its source names it; ``cluster`` with ``ZOOKEEPER`` behind it: of its ZooKeeper. ControllerFault,
    saying where it was looked for, when it is not there."""
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
