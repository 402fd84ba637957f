"""The command that runs the real ZooKeeper server from the classes in PySpark's jars."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from segments.errors import Unavailable
from segments.processes.machine.private_file import write_private
from segments.store.on_zookeeper.login import ZooKeeperLogin

#: All that a standalone server needs; half the memory and start-up time of the whole folder.
_JARS = (
    "zookeeper-*.jar",
    "slf4j-api-*.jar",
    "log4j-api-*.jar",
    "log4j-core-*.jar",
    "log4j-slf4j2-impl-*.jar",
    "netty-*.jar",
    "metrics-core-*.jar",
    "snappy-java-*.jar",
    "jackson-core-*.jar",
    "commons-cli-*.jar",
    "commons-io-*.jar",
    "commons-lang-*.jar",
)
#: It keeps all znodes in memory. A million segments fit: ``bench/scale/million.py``.
HEAP_BYTES: Final = 2 << 30
#: Milliseconds; sessions may be 2 to 40 seconds long and expire within one tick.
TICK_MS = 1000
#: Pinot's own limit: ideal states of large tables do not fit into ZooKeeper's default of 1 MB.
_LARGEST_ZNODE = 4_000_000


def zookeeper_command(
    data_dir: Path, port: int, java: Path, login: ZooKeeperLogin | None = None, heap_bytes: int = HEAP_BYTES
) -> list[str]:
    """Write ``data_dir/zoo.cfg`` (mode 0600) and return the command of a server on loopback, on which ``login`` may do
    everything. ``heap_bytes``: of memory for all znodes and their reading and writing; it ends when that is not enough.

    Raises Unavailable when PySpark's jars are not there.
    """
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    config = data_dir / "zoo.cfg"
    text = format_zookeeper_config(data_dir, port, login)
    write_private(config, text.encode("ascii", "backslashreplace").decode("ascii"))
    return [
        str(java),
        "-Xms64m",  # Java would begin with a 64th of the machine's memory
        f"-Xmx{heap_bytes >> 20}m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:+ExitOnOutOfMemoryError",
        f"-Djute.maxbuffer={_LARGEST_ZNODE}",
        "-Dzookeeper.preAllocSize=4096",
        "-cp",
        os.pathsep.join(str(jar) for jar in zookeeper_jars()),
        "org.apache.zookeeper.server.quorum.QuorumPeerMain",
        str(config),
    ]


def format_zookeeper_config(data_dir: Path, port: int, login: ZooKeeperLogin | None = None) -> str:
    """The text of zoo.cfg: loopback only, no admin port, old snapshots purged every six hours."""
    # A properties file: a backslash in a path would begin an escape.
    folder = str(data_dir / "data").replace("\\", "\\\\")
    # Who has the password of secrets.json may do everything also with znodes of an earlier password: a lost file is no
    # lost cluster.
    ours = f"DigestAuthenticationProvider.superDigest={login.identity.removeprefix('digest:')}\n" if login else ""
    return f"""tickTime={TICK_MS}
maxSessionTimeout={40 * TICK_MS}
dataDir={folder}
clientPort={port}
clientPortAddress=127.0.0.1
maxClientCnxns=1000
admin.enableServer=false
4lw.commands.whitelist=ruok,srvr
autopurge.snapRetainCount=5
autopurge.purgeInterval=6
{ours}"""


def zookeeper_jars() -> list[Path]:
    """The trimmed class path. Raises Unavailable when PySpark or its ZooKeeper classes are missing."""
    spec = find_spec("pyspark")
    folders = list(spec.submodule_search_locations or []) if spec else []
    jars = sorted({jar for folder in folders for pattern in _JARS for jar in (Path(folder) / "jars").glob(pattern)})
    if not any(jar.name.startswith("zookeeper-") for jar in jars):
        raise Unavailable("ZooKeeper's classes were not found in PySpark's jars.", remedy="Run 'make install'.")
    # Netty's native libraries are for TLS and other systems; the server here uses neither.
    return [jar for jar in jars if "-native-" not in jar.name and "tcnative" not in jar.name]
