"""Fetches the jars of real parts (Apache Pinot, Apache Kafka, Pinot's clients and newer controllers) from Maven's
central repository, once.

``python -m tests.maven`` fetches all of them; exit status 75 and the reason where that cannot be. They lie outside of
the repository.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

_TESTS = Path(__file__).resolve().parent
#: What a caller of the command takes for "not here, not now" (sysexits.h, EX_TEMPFAIL).
CAN_NOT_BE_HAD = 75
#: Seconds that all downloads together may take: about seven minutes on a slow connection.
_PATIENCE_S = 840.0


def cache_folder() -> Path:
    """Where jars are kept."""
    return Path(os.environ.get("PINOTADMIN_CACHE") or "~/.cache/pinotadmin").expanduser()


@dataclass(frozen=True)
class Jars:
    """What one pom names, with what it needs at run time."""

    name: str
    pom: Path

    @property
    def folder(self) -> Path:
        return cache_folder() / self.name

    @property
    def lib(self) -> Path:
        """The folder of the jars themselves."""
        return self.folder / "lib"

    @property
    def is_complete(self) -> bool:
        """Were exactly this pom's jars fetched?"""
        return self._stamp.exists() and self._stamp.read_text() == self.pom.read_text()

    def fetch(self, seconds: float = _PATIENCE_S) -> str:
        """Fetch them if they are not there, twice at most; what stands in the way, or "" when they are."""
        if self.is_complete:
            return ""
        maven = shutil.which("mvn")
        if maven is None:
            return f"{self.name} needs Maven (mvn) to fetch its jars once"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / "lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                return "" if self.is_complete else self._fetch(maven, time.monotonic() + seconds)
        except OSError as error:
            return f"{self.name} cannot be kept in {self.folder}: {error.strerror or error}"

    def _fetch(self, maven: str, deadline: float) -> str:
        problem = ""
        self._stamp.unlink(missing_ok=True)  # of another pom, perhaps: what is being filled is not complete
        for _ in range(2):
            problem = self._copy(maven, deadline - time.monotonic())
            if not problem:
                self._stamp.write_text(self.pom.read_text())
                return ""
        return f"Maven could not fetch {self.name}: {problem}"

    def _copy(self, maven: str, seconds: float) -> str:
        if seconds <= 0:
            return "it took too long"
        shutil.rmtree(self.lib, ignore_errors=True)
        command = [maven, "-B", "-q", "-f", str(self.pom), "dependency:copy-dependencies", "-DincludeScope=runtime"]
        # In a session of its own: Maven is a script, and its Java has to end with it.
        with subprocess.Popen(
            [*command, f"-DoutputDirectory={self.lib}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                said, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                return f"it took longer than {seconds:.0f} s"
        errors = [line for line in said.splitlines() if "ERROR" in line]
        if process.returncode != 0:
            return "\n".join(errors[:3])[:600] or said[-300:] or f"it ended with status {process.returncode}"
        return "" if any(self.lib.glob("*.jar")) else "it said that all is well, but there is not one jar"

    @property
    def _stamp(self) -> Path:
        return self.folder / "complete"


PINOT = Jars("pinot-0.11.0", _TESTS / "real_pinot" / "pom.xml")
#: The client side of a newer Pinot: of these versions servers are not in the repository.
CLIENTS = Jars("pinot-clients-1.5.1", _TESTS / "real_pinot" / "clients" / "pom.xml")
KAFKA = Jars("kafka-3.9.1", _TESTS / "streams" / "pom.xml")
_CONTROLLERS = _TESTS / "real_pinot" / "controllers"
#: {version: its jars in the order of the class path}. Of versions after 0.11.0 the repository has controllers only.
CONTROLLERS = {
    "0.11.0": (PINOT,),
    "1.2.0": (
        Jars("pinot-controller-1.2.0", _CONTROLLERS / "pom-1.2.0.xml"),
        Jars("pinot-libraries-1.3.0", _CONTROLLERS / "pom-1.3.0-libraries.xml"),
    ),
    "1.5.1": (Jars("pinot-controller-1.5.1", _CONTROLLERS / "pom-1.5.1.xml"),),
}


def main() -> int:
    """Fetch everything; 0 or CAN_NOT_BE_HAD."""
    deadline = time.monotonic() + _PATIENCE_S
    for jars in dict.fromkeys((PINOT, KAFKA, CLIENTS, *chain.from_iterable(CONTROLLERS.values()))):
        if not jars.is_complete:
            sys.stdout.write(f"Fetching {jars.name}; the first time this takes some minutes\n")
            sys.stdout.flush()
        if problem := jars.fetch(max(1.0, deadline - time.monotonic())):
            sys.stdout.write(problem + "\n")
            return CAN_NOT_BE_HAD
    return 0


if __name__ == "__main__":
    sys.exit(main())
