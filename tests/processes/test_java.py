"""Which Java is taken, and what Spark gets when it is the wheel's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from segments.errors import Unavailable
from segments.processes.machine import java
from segments.processes.machine.java import Java, find_java, spark_java_home


def fake_java(home: Path, version: str) -> Path:
    """A home whose ``bin/java`` answers as a Java of that version does."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        f"#!/bin/sh\necho '    java.home = {home}' >&2\necho '    java.specification.version = {version}' >&2\n"
    )
    program.chmod(0o755)
    return home


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    home, other = fake_java(tmp_path / "home", "21"), fake_java(tmp_path / "other", "17")
    assert find_java({"JAVA_HOME": str(home), "PATH": f"{other}/bin"}) == Java(home, 21)
    assert find_java({"PATH": f"{other}/bin"}) == Java(other, 17)


@pytest.mark.parametrize("version", ["11", "1.8"])
def test_a_java_that_is_too_old_is_passed_over(tmp_path: Path, version: str) -> None:
    old, new = fake_java(tmp_path / "old", version), fake_java(tmp_path / "new", "17")
    assert find_java({"JAVA_HOME": str(old), "PATH": f"{new}/bin"}).home == new


def test_a_java_home_without_java_is_passed_over(tmp_path: Path) -> None:
    new = fake_java(tmp_path / "new", "17")
    assert find_java({"JAVA_HOME": str(tmp_path / "empty"), "PATH": f"{new}/bin"}).home == new


def test_the_wheel_is_taken_when_the_machine_has_no_java(tmp_path: Path) -> None:
    found = find_java({"PATH": str(tmp_path)})
    assert found.bundled
    assert found.version >= 17
    assert found.executable.exists()


def test_without_any_java_the_error_says_what_was_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "bundled_java", lambda: None)
    old = fake_java(tmp_path / "old", "11")
    with pytest.raises(Unavailable, match=rf"No Java 17 or later was found; tried {old}/bin/java \(Java 11\)"):
        find_java({"JAVA_HOME": str(old), "PATH": str(tmp_path)})


def test_spark_uses_a_machines_java_as_it_is(tmp_path: Path) -> None:
    assert spark_java_home(Java(tmp_path, 17), tmp_path / "shim") == tmp_path
    assert not (tmp_path / "shim").exists()


def test_the_shim_drops_only_the_module_that_the_wheel_lacks(tmp_path: Path) -> None:
    real = tmp_path / "a java's home" / "bin" / "java"
    real.parent.mkdir(parents=True)
    real.write_text('#!/bin/sh\nfor a do echo "<$a>"; done\n')
    real.chmod(0o755)
    home = spark_java_home(Java(real.parents[1], 25, bundled=True), tmp_path / "shim")
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-Dname=two words", "--add-modules=java.sql", "*"]
    answer = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines() == ["<-Xmx1g>", "<-Dname=two words>", "<--add-modules=java.sql>", "<*>"]
