"""Memory that a worker process keeps for the records of a million segments, between two passes and while one runs.

``python -m bench.scale.kept_records [--segments 1000000] [--tables 40]``. Records are made here; each table is read
twice, as by two passes in a row.
"""

from __future__ import annotations

import argparse
import gc
import resource
import time
from collections.abc import Sequence
from pathlib import Path

from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.services.upkeep.segment_record_cache import SegmentRecordCache


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=1_000_000)
    parser.add_argument("--tables", type=int, default=40)
    given = parser.parse_args()
    cache, before, now_ms = SegmentRecordCache(), _resident(), int(time.time() * 1000)
    each = given.segments // given.tables
    for text in ("first pass, which reads all records", "second pass"):
        began = time.perf_counter()
        for number in range(given.tables):
            table = f"events_{number}"
            names = [f"{table}__{n % 16}__{n}__20261126T{n % 24:02d}00Z" for n in range(each)]
            cache.read(f"{table}_REALTIME", names, lambda wanted, t=table: _records(t, wanted), now_ms)  # type: ignore[misc]  # bound at once
            del names
        gc.collect()
        kept, most = _resident() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
        print(
            f"{text}: {time.perf_counter() - began:.1f} s; {kept / 2**20:.0f} MB kept, at most {most / 2**20:.0f} MB",
            flush=True,
        )


def _records(table: str, names: Sequence[str]) -> dict[str, SegmentMetadata]:
    return {
        name: SegmentMetadata(
            name,
            {
                "segment.realtime.status": "".join(("DO", "NE")),
                "segment.download.url": f"store:///segments/{table}/{name}",
                "segment.size.in.bytes": str(100_000_000 + n),
                "segment.start.time": str(1_795_000_000_000 + n),
                "segment.end.time": str(1_795_000_060_000 + n),
                "segment.time.unit": "MILLISECONDS",
            },
        )
        for n, name in enumerate(names)
    }


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    main()
