"""An installation of the checkout that is the current folder, which runs cycles of ``bench.lineage`` when it is asked
to: a number on each line of its input, the seconds of every step as a line of JSON in its output.

It is run by its path, so that what it imports is of that checkout, also of one that is older than this file. That is
why it repeats lines of ``bench.lineage`` instead of calling functions that an older checkout does not have.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from bench._snapshots import NEW, OLD, SNAPSHOTS, TABLE, PlainClient, tars
from bench.lineage import cycle
from tests.integration.running import Installation
from tests.waiting import poll

#: Seconds in which Spark is started ahead of the first push.
_SETTLE_S = 25


def main() -> None:
    """Until the input ends."""
    with tempfile.TemporaryDirectory() as folder:
        installation = Installation(Path(folder) / "data").start(180)
        try:
            time.sleep(_SETTLE_S)
            answer(PlainClient(installation.endpoints))
        finally:
            installation.stop()


def answer(client: PlainClient) -> None:
    """Cycles on a new table; before the first ones are asked for, three that do not count."""
    client.create(TABLE)
    with tars(*OLD, *NEW) as built:
        built.put(client, TABLE, *OLD)
        client.online(TABLE, *OLD)
        poll(lambda: client.counts(TABLE) == SNAPSHOTS[0], 20, "first snapshot")
        for _ in range(3):
            cycle(client, built, {})
        print(json.dumps({}), flush=True)
        for line in sys.stdin:
            found: dict[str, list[float]] = {}
            for _ in range(int(line)):
                cycle(client, built, found)
                queried(client, found)
            print(json.dumps(found), flush=True)


def queried(client: PlainClient, found: dict[str, list[float]]) -> None:
    """Five queries with nothing before them."""
    for _ in range(5):
        began = time.perf_counter()
        client.counts(TABLE)
        found.setdefault("query", []).append(time.perf_counter() - began)


if __name__ == "__main__":
    main()
