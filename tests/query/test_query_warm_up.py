"""The warm-up takes every first-time cost that can be taken before a query is asked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_PROBE = """
import sys
from segments.dataplane.query import warm_up
warm_up()
before = set(sys.modules)
from tests.query.samples import over_two_servers
over_two_servers("SELECT city, COUNT(*), MAX(ok) FROM t WHERE city <> 'x' GROUP BY city ORDER BY 2 LIMIT 5")
print(sorted(m for m in set(sys.modules) - before if not m.startswith("tests")))
"""


def test_after_the_warm_up_a_query_imports_nothing_heavy() -> None:
    root = Path(__file__).resolve().parents[2]
    found = subprocess.run(
        [sys.executable, "-c", _PROBE], cwd=root, capture_output=True, text=True, timeout=60, check=True
    )
    assert found.stdout.strip() == "[]"
