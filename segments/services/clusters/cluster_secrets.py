"""Secrets of Pinot clusters: in a private file of the data directory, or where the person named it; never in database,
log, URL or answer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from segments.processes.machine.private_file import changing_json

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
