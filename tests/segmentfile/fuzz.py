"""Damages segments at random and reads them: ``python -m tests.segmentfile.fuzz --mutations 20000 [--seed 1]``.

Allowed outcomes are SegmentCorrupt, a fault that ``verify`` reports (the CRC finds what reading cannot), and the same
rows as before. Everything else is a failure: another exception, other rows without a fault, more than 10 s, or much
more memory than the file has bytes.
"""

from __future__ import annotations

import argparse
import collections
import math
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from segments.errors import SegmentCorrupt
from segments.segmentfile import SegmentReader, extract_tar, read_info_from_tar, verify, write_tar
from tests.segmentfile.samples import FIXTURES, build, config_of, schema_of

_SECONDS = 10
#: What one damaged segment of some kilobytes may add to the process at its worst.
_MEMORY_KB = 96 << 10
_NUMBERS = (0, 1, -1, 2**31 - 1, -(2**31), 0x7FFF, 0x80000000, 0xFFFFFFFF, 28, 4096, 1 << 20)


@dataclass(frozen=True)
class Subject:
    """A segment (or its tar) before damage: file contents by relative path, and its rows."""

    name: str
    files: dict[str, bytes]
    rows: dict[str, Any]


class Hang(BaseException):
    """One damaged segment took too long."""


def subjects(folder: Path) -> list[Subject]:
    """Pinot's own fixtures, their tars, and segments with every codec."""
    found = [_subject(FIXTURES / n) for n in ("all_0", "tiny_0_v1", "tiny_0_v3", "empty_0")]
    rows = {
        "s": [f"value {i % 13}" for i in range(120)], "n": list(range(120)), "m": [[i, i + 1] for i in range(120)],
        "t": [["a" * (i % 5), "b"] for i in range(120)], "d": [str(i) + ".5" for i in range(120)],
    }  # fmt: skip
    schema = schema_of(("s", "STRING"), ("n", "LONG"), ("m", "INT[]"), ("t", "STRING[]"), ("d", "BIG_DECIMAL"))
    for codec in ("LZ4", "SNAPPY", "ZSTANDARD", "GZIP", "PASS_THROUGH"):
        fields = [{"name": n, "encodingType": "RAW", "compressionCodec": codec} for n in rows]
        build(rows, schema, config_of(fields=fields), folder, codec)
        found.append(_subject(folder / codec))
    build(
        rows,
        schema,
        config_of(useVarLengthDictionary=True, invertedIndexColumns=list(rows), nullHandlingEnabled=True),
        folder,
        "dict",
    )
    found.append(_subject(folder / "dict"))
    for name in ("all_0", "tiny_0_v1"):
        write_tar(FIXTURES / name, folder / "tar")
        found.append(Subject(f"{name}.tar.gz", {"segment.tar.gz": (folder / "tar").read_bytes()}, found[0].rows))
    return found


def campaign(mutations: int, seed: int) -> tuple[collections.Counter[str], list[str]]:
    """Damage and read that many times; (outcomes by kind, one line per failure). The same seed gives the
    same damage.
    """
    source = random.Random(seed)
    outcomes: collections.Counter[str] = collections.Counter()
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, _alarm():
        pool = subjects(Path(folder))
        for number in range(mutations):
            subject = source.choice(pool)
            file = source.choice(sorted(subject.files))
            data = subject.files[file]
            for _ in range(source.choice((1, 1, 1, 2, 4))):
                data = damage(data, source)
            target = Path(folder) / "damaged"
            outcome, kept = _try(subject, file, data, target)
            outcomes[outcome] += 1
            if not kept:
                failures.append(f"mutation {number} of seed {seed}: {subject.name} {file}: {outcome}")
    return outcomes, failures


def damage(data: bytes, source: random.Random) -> bytes:
    """The bytes with one random change."""
    out = bytearray(data or b"\0")
    at = source.randrange(len(out))
    match source.randrange(8):
        case 0:
            out[at] ^= 1 << source.randrange(8)
        case 1:
            out[at] = source.randrange(256)
        case 2:
            del out[at : at + source.randint(1, 40)]
        case 3:
            out[at:at] = source.randbytes(source.randint(1, 40))
        case 4:
            del out[at:]
        case 5:
            word = (source.choice(_NUMBERS) & 0xFFFFFFFF).to_bytes(4, source.choice(("big", "little")))
            out[at : at + 4] = word
        case 6:
            other, size = source.randrange(len(out)), source.randint(1, 64)
            out[at : at + size] = out[other : other + size]
        case _:
            _damage_digits(out, source)
    return bytes(out)


def _damage_digits(out: bytearray, source: random.Random) -> None:
    """Put another number in place of one that stands there as text."""
    places = [i for i, byte in enumerate(out) if 48 <= byte <= 57 and (i == 0 or not 48 <= out[i - 1] <= 57)]
    if places:
        at = source.choice(places)
        end = next((i for i in range(at, len(out)) if not 48 <= out[i] <= 57), len(out))
        out[at:end] = str(source.choice((*_NUMBERS, 2**63, 10**30, source.randrange(100)))).encode()


def _try(subject: Subject, file: str, data: bytes, target: Path) -> tuple[str, bool]:
    shutil.rmtree(target, ignore_errors=True)
    for name, content in subject.files.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(data if name == file else content)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        outcome, is_fine = _tar(target / file) if file.endswith(".tar.gz") else _segment(target, subject)
    except SegmentCorrupt:
        outcome, is_fine = "SegmentCorrupt", True
    except Hang:
        outcome, is_fine = f"more than {_SECONDS} s", False
    except Exception as error:  # noqa: BLE001 - any other exception is what this program searches for
        outcome, is_fine = f"{type(error).__name__}: {str(error)[:200]}", False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return (outcome, is_fine) if grown < _MEMORY_KB else (f"{grown} KB more memory", False)


def _segment(target: Path, subject: Subject) -> tuple[str, bool]:
    rows: dict[str, Any] = {}
    broken = False
    with SegmentReader(target) as reader:
        for name in reader.info.columns:
            try:
                rows[name] = _read(reader, name)
                reader.column(name, 1, 3)
            except SegmentCorrupt as error:
                if isinstance(error.__cause__, MemoryError):
                    return f"out of memory: {error}", False
                broken = True
    faults = verify(target)
    if broken:
        return ("SegmentCorrupt", True) if faults else ("SegmentCorrupt, but verify finds nothing", False)
    if faults:
        return "read, and verify tells the fault", True
    return ("read as before", True) if _same(rows, subject.rows) else ("OTHER ROWS WITHOUT A FAULT", False)


def _tar(path: Path) -> tuple[str, bool]:
    """The tar's metadata first, as an upload does; then all of it."""
    read_info_from_tar(path)
    faults = verify(path)
    if not faults:
        with tempfile.TemporaryDirectory(prefix="fuzz-tar-") as folder:
            extract_tar(path, Path(folder))
    return ("read, and verify tells the fault" if faults else "read as before"), True


def _read(reader: SegmentReader, name: str) -> Any:
    mask = reader.null_mask(name)
    return reader.column(name).to_pylist(), None if mask is None else mask.tolist()


def _same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return repr(sorted(a.items())) == repr(sorted(b.items()))


def _subject(folder: Path) -> Subject:
    files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
    with SegmentReader(folder) as reader:
        return Subject(folder.name, files, {name: _read(reader, name) for name in reader.info.columns})


@contextmanager
def _alarm() -> Iterator[None]:
    def ring(_number: int, _frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, before)


def main() -> int:
    """Run one campaign and print what came out; status 1 when there was a failure."""
    parser = argparse.ArgumentParser(prog="python -m tests.segmentfile.fuzz", description=__doc__)
    parser.add_argument("--mutations", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    begin = time.monotonic()
    outcomes, failures = campaign(given.mutations, given.seed)
    for outcome, count in outcomes.most_common():
        sys.stdout.write(f"{count:8,} {outcome}\n")
    sys.stdout.write("".join(f"{line}\n" for line in failures[:50]))
    passed = time.monotonic() - begin
    sys.stdout.write(
        f"{sum(outcomes.values()):,} mutations of seed {given.seed}, {len(failures)} failures, {math.ceil(passed)} s\n"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
