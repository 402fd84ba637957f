"""Everything that is measured of file ingestion sessions, one bench after the other: many small files, the session's
page, many and one large CSV file, memory of a worker.

Usage: ``python -m bench.ingestion [--small]``. ``--small`` is a hundredth of it and says nothing about speed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from typing import Final

#: Module and arguments: of the full size, and of the small one.
_BENCHES: Final = (
    ("sessions", "--files 10000 --spark local[2]", "--files 100"),
    ("session_page", "--files 10000", "--files 100"),
    ("reading", "--rows 10000000 --mb 2048", "--rows 100000 --mb 32"),
)


def main() -> None:
    """Print what each prints, under its command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true")
    is_small = parser.parse_args().small
    for name, full, small in _BENCHES:
        command = ["-m", f"bench.ingestion.{name}", *(small if is_small else full).split()]
        print(f"python {' '.join(command)}")
        sys.stdout.flush()
        subprocess.run([sys.executable, *command], check=True)


if __name__ == "__main__":
    main()
