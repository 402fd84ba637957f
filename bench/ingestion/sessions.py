"""What sessions of many small files cost: listing and a whole session, a trigger with nothing changed, a retry.

Usage: ``python -m bench.ingestion.sessions [--files 1000] [--kb 10] [--failed 3] [--spark MASTER]``; the full size is
``--files 10000 --spark local[2]``. Without ``--spark`` parts are built in this process, one after the other; records
are in memory, files in a temporary folder.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.ingestion.ingesting import IngestionWorld


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--kb", type=int, default=10)
    parser.add_argument("--failed", type=int, default=3)
    parser.add_argument("--spark", default="", help="a master such as local[2]")
    asked = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pinotadmin.settings")
    import django

    django.setup()
    from django.test.utils import setup_databases, setup_test_environment, teardown_databases

    setup_test_environment(debug=False)
    before = setup_databases(verbosity=0, interactive=False)
    try:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            _session(Path(folder) / "session", asked)
            _retry(Path(folder) / "retry", asked)
    finally:
        teardown_databases(before, verbosity=0)


def _session(folder: Path, asked: argparse.Namespace) -> None:
    """Listing, a whole session, and a trigger after it."""
    from segments.services.ingestion.situation import list_input, read_setup  # all of these need Django's settings
    from tests.services.world import TABLE

    world = _world(folder, asked)
    with _timed(f"listing of {asked.files:,} files of {asked.kb} kB"):
        listed = list_input(world.ctx, TABLE, read_setup(world.ctx, TABLE).task)
    assert len(listed) == asked.files
    with _timed("trigger and run of the session"):
        world.go()
    assert world.session.counts.done == asked.files, world.session.error
    print(f"    {world.vis:,} rows in {len(world.visible):,} segments")
    builder: Any = world.builder
    calls = builder.calls
    with _timed("trigger with nothing changed"):
        assert world.go().session_id is None
    print(f"    Spark was asked to build {builder.calls - calls} times")


def _retry(folder: Path, asked: argparse.Namespace) -> None:
    """A session of which some files failed, and its retry."""
    from segments.domain.ingestion.session import FileState
    from segments.services.ingestion import sessions

    world = _world(folder, asked)
    bad = [f"{n:06}.csv" for n in range(0, asked.files, max(asked.files // asked.failed, 1))][: asked.failed]
    for name in bad:
        world.put(name, 1, bad=True)
    with _timed(f"session of {asked.files:,} files, of which {len(bad)} fail"):
        world.go()
    assert world.session.counts.failed == len(bad)
    assert world.vis == 0
    before = {f.uri: f.attempts for f in sessions.files_of(world.ctx, world.session)}
    for name in bad:
        world.put(name, 1)
    with _timed("its retry"):
        world.go()
    after = sessions.files_of(world.ctx, world.session)
    read = [f.uri for f in after if f.attempts > before[f.uri]]
    assert all(f.state is FileState.DONE for f in after)
    print(f"    {len(read)} files read")
    assert sorted(Path(uri).name for uri in read) == bad


def _world(folder: Path, asked: argparse.Namespace) -> IngestionWorld:
    """A table that ingests so many files of that size."""
    from segments.spark.build_segments import SparkBuilder
    from tests.ingestion.ingesting import APPEND, IngestionWorld

    world = IngestionWorld(folder, APPEND)
    world.builder = _Counted(SparkBuilder(asked.spark) if asked.spark else world.builder)  # type: ignore[assignment]  # counts calls only
    row = "A city with a name of some length,{n},17000\n"
    text = "city,n,day\n" + "".join(row.format(n=n) for n in range(asked.kb * 1_000 // len(row)))
    for n in range(asked.files):
        (world.folder / f"{n:06}.csv").write_text(text)
    return world


class _Counted:
    """A builder that counts how often it was asked to build."""

    def __init__(self, builder: Any) -> None:
        self._builder, self.calls = builder, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._builder, name)

    def build(self, job: Any, parts: Any, on_built: Callable[[list[Any]], None], on_failed: Any) -> None:
        """As the builder's."""
        self.calls += 1
        self._builder.build(job, parts, on_built, on_failed)


@contextmanager
def _timed(what: str) -> Iterator[None]:
    """Seconds that pass, and seconds of the processor in this process; the JVM and its workers are not counted."""
    began, cpu = time.perf_counter(), _cpu()
    yield
    print(f"{what}: {time.perf_counter() - began:.2f} s, {_cpu() - cpu:.2f} CPU-s here")
    sys.stdout.flush()


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
