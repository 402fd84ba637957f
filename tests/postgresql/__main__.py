"""Runs tests on a real PostgreSQL in SQLite's place: ``python -m tests.postgresql ARGUMENTS-OF-PYTEST``.

Django's settings are read before any fixture could start a server, so the server is there first.
"""

from __future__ import annotations

import os
import subprocess
import sys

from tests.postgresql.server import MISSING, running_postgresql
from tests.real_parts import until_ended

#: The command's status where there is no PostgreSQL: what it is to show was not looked for.
SKIPPED = 75


def main(arguments: list[str]) -> int:
    """The status of pytest."""
    with running_postgresql() as server:
        if server is None:
            print(f"SKIPPED: tests on PostgreSQL; {MISSING}", file=sys.stderr)
            return SKIPPED
        environment = {**os.environ, "DATABASE_URL": server.url}
        return subprocess.run([sys.executable, "-m", "pytest", *arguments], env=environment, check=False).returncode


if __name__ == "__main__":
    with until_ended():
        sys.exit(main(sys.argv[1:]))
