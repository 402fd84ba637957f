"""Runs the black-box suite against a real Apache Pinot 0.11.0, directly and through an installation that drives it.

``python -m tests.real_pinot.conformance SUITE [--direct | --through-us] [FILE ...] [pytest options]``: one Pinot, one
Kafka and one installation for all of it; both ways and every file by default. Fails when the outcome of any
test is another than ``conformance_differences.toml`` says. The suite itself stays as it is.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from tests.conformance_run import run_suite
from tests.integration.running import ROOT, Installation
from tests.real_pinot.cluster import CLUSTER, RealPinot, add_to, running
from tests.real_pinot.differences import NOT_RUN, Outcomes, Way, judge, known_differences, outcomes
from tests.streams import kafka_broker

BATCH = ("test_lineage.py", "test_tables.py", "test_storage.py", "test_upload_delete.py", "test_retention.py")
WAYS: tuple[Way, ...] = get_args(Way)
#: Pinot 0.11.0 carries this client of Kafka; the suite's own choice is that of 1.5.1.
_FACTORY = {"stream.kafka.consumer.factory.class.name": "org.apache.pinot.plugin.stream.kafka20.KafkaConsumerFactory"}
#: The name under which the installation drives the Pinot.
_NAME = "real"
_OPTIONS: dict[str, tuple[Way, ...]] = {"--direct": ("direct",), "--through-us": ("through",)}
_DESELECTED = re.compile(r"(\d+) deselected")
#: pytest's statuses of a run that came to its end: all passed, some failed, none left to run.
_RAN = (0, 1, 5)


@dataclass(frozen=True)
class Target:
    """What the suite runs against. ``stream`` is the Kafka's address; ``installation`` drives the Pinot, for the way
    through us.
    """

    pinot: RealPinot
    stream: str = ""
    installation: Installation | None = None

    def endpoints(self, way: Way) -> dict[str, Any]:
        """Addresses as in endpoints.json. ZooKeeper and deep store are always those of the Pinot."""
        here = {"controller": self.pinot.controller, "broker": self.pinot.broker, "authorization": ""}
        if way == "through":
            assert self.installation is not None
            own = self.installation.endpoints
            web = f"{own['controller']}/clusters/{_NAME}"
            here = {"controller": web, "broker": web, "authorization": own["authorization"]}
        return {
            **here,
            "zookeeper": self.pinot.zookeeper,
            "zookeeper_auth": "",
            "cluster": CLUSTER,
            "deep_store": f"file://{self.pinot.deep_store}",
            "redis": "",
        }


@dataclass(frozen=True)
class Result:
    """One file in one way: what became of its tests, what is not as it is known to be, pytest's own
    words, and seconds.
    """

    name: str
    seen: Outcomes
    left_out: int
    surprises: Sequence[str]
    output: str
    seconds: float

    def __str__(self) -> str:
        ran = len(self.seen.passed | self.seen.failed)
        more = f", {self.left_out} not run" if self.left_out else ""
        return (
            f"{self.name}: {len(self.seen.passed)} of {ran} pass, {len(self.seen.failed)} differ{more}; "
            f"{self.seconds:.0f} s"
        )


def files_of(suite: Path) -> list[str]:
    """Every file of the suite, batch first."""
    return [*BATCH, *sorted(f"realtime/{path.name}" for path in (suite / "realtime").glob("test_*.py"))]


def run(suite: Path, target: Target, way: Way, file: str, options: Sequence[str] = ()) -> Result:
    """Run a file of the suite in one way and compare with what is known of 0.11.0."""
    began, known = time.monotonic(), known_differences(way, file)
    left_out = {name for name, why in known.items() if why.startswith(NOT_RUN)}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        arguments = ["-q", "--tb=short", f"--junitxml={report}", *_what_it_needs(way), *options, file]
        arguments += [f"--deselect={name.removesuffix('*')}" for name in sorted(left_out)]
        done = run_suite(
            suite,
            target.endpoints(way),
            Path(folder),
            arguments,
            is_strict=way == "through",
            capture=True,
            more=_environment(target),
        )
        seen = outcomes(report) if report.exists() else Outcomes()
    surprises = judge(seen, {name: why for name, why in known.items() if name not in left_out}, is_whole=not options)
    if done.returncode not in _RAN and not surprises:
        surprises = [f"pytest ended with status {done.returncode}"]
    found = _DESELECTED.search(done.stdout)
    output = done.stdout + done.stderr if surprises else ""
    return Result(f"{way} {file}", seen, int(found[1]) if found else 0, surprises, output, time.monotonic() - began)


def _environment(target: Target) -> Mapping[str, str]:
    return {
        "STREAM": "kafka",
        "KAFKA_BOOTSTRAP": target.stream,
        "STREAM_CONFIG_EXTRA": json.dumps(_FACTORY),
        "PYTHONPATH": str(ROOT),
        "FIXED_COMPLETION_TIME": "1",
    }


def _what_it_needs(way: Way) -> list[str]:
    """Directly, 0.11.0 takes no REALTIME table without a setting that the suite, made for newer ones, does not send."""
    return ["-p", "tests.real_pinot.suite_on_0_11"] if way == "direct" else []


@contextmanager
def everything(ways: Sequence[Way], *, has_stream: bool) -> Iterator[Target]:
    """A Pinot, a Kafka if there are realtime files, and an installation if the suite goes through us."""
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="through-us-", ignore_cleanup_errors=True)))
        pinot = held.enter_context(running())
        stream = held.enter_context(kafka_broker.running()).bootstrap if has_stream else ""
        installation = None
        if "through" in ways:
            installation = Installation(folder / "data")
            held.callback(_stop, installation)
            add_to(installation.start(240), pinot, _NAME, has_zookeeper=True)
        yield Target(pinot, stream, installation)


def _stop(installation: Installation) -> None:
    if installation.process is not None and installation.process.poll() is None:
        installation.stop()


def main(arguments: list[str]) -> int:
    """Start everything, run, judge; 0 when everything is as it is known to be."""
    suite = Path(arguments[0]).resolve() if arguments else Path("conformance")
    if not suite.is_dir():
        sys.exit(f"There is no conformance suite in {suite}. Name its folder: make conformance-real CONFORMANCE=DIR")
    ways = [way for a in arguments for way in _OPTIONS.get(a, ())] or list(WAYS)
    files = [a for a in arguments[1:] if a.endswith(".py")] or files_of(suite)
    options = [a for a in arguments[1:] if not a.endswith(".py") and a not in _OPTIONS]
    wrong, total, began = 0, dict.fromkeys(ways, Outcomes()), time.monotonic()
    with everything(ways, has_stream=any(f.startswith("realtime/") for f in files)) as target:
        for way, file in itertools.product(ways, files):
            result = run(suite, target, way, file, options)
            _say(result)
            wrong += len(result.surprises)
            total[way] = total[way] + result.seen
    for way, seen in total.items():
        sys.stdout.write(
            f"{way}: {len(seen.passed)} of {len(seen.passed | seen.failed)} pass, {len(seen.failed)} differ\n"
        )
    sys.stdout.write(f"{wrong} outcomes are not as they are known to be; {time.monotonic() - began:.0f} s in all\n")
    return 1 if wrong else 0


def _say(result: Result) -> None:
    said = [result.output[-20_000:], *result.surprises] if result.surprises else []
    sys.stdout.write("\n".join([*said, str(result)]) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
