"""Jars of real parts that cannot be fetched: the reason is reported, nothing half is taken for whole, and CI goes on
without them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import maven
from tests.maven import CAN_NOT_BE_HAD, Jars
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
#: What a fake Maven does first: find out where the jars go, and put half of them there.
HALF = """for a do case "$a" in -DoutputDirectory=*) lib="${a#*=}";; esac; done
mkdir -p "$lib"; echo half > "$lib/half.jar"; """
WORKS = """for a do case "$a" in -DoutputDirectory=*) lib="${a#*=}";; esac; done
mkdir -p "$lib"; echo whole > "$lib/whole.jar"; """


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """First on the PATH; the cache of jars is empty."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PINOTADMIN_CACHE", str(tmp_path / "cache"))
    return folder


def script(path: Path, text: str) -> None:
    """A program of the shell."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def jars(tmp_path: Path) -> Jars:
    pom = tmp_path / "pom.xml"
    pom.write_text("<project/>")
    return Jars("parts", pom)


def command() -> subprocess.CompletedProcess[str]:
    """``python -m tests.maven``."""
    return subprocess.run([sys.executable, "-m", "tests.maven"], cwd=ROOT, capture_output=True, text=True, timeout=120)


FAILURES = {
    "no network": (
        f"{HALF} echo '[ERROR] Could not transfer artifact x from central: Unknown host repo.maven.apache.org'; exit 1",
        "Unknown host",
    ),
    "a broken repository": (
        f"{HALF} echo '[ERROR] Checksum validation failed, expected abc but is def'; exit 1",
        "Checksum validation",
    ),
    "a full disk": (
        f"{HALF} echo '[ERROR] Failed to copy x.jar: No space left on device'; exit 1",
        "No space left on device",
    ),
    "no word at all": ("exit 3", "it ended with status 3"),
    "another text": ("echo 'JAVA_HOME is not defined correctly' >&2; exit 1", "JAVA_HOME is not defined"),
    "nothing fetched": ("exit 0", "not one jar"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_maven_that_fails_is_status_75_with_its_reason_and_nothing_counts_as_fetched(
    failure: str, bin_folder: Path, jars: Jars
) -> None:
    text, reason = FAILURES[failure]
    script(bin_folder / "mvn", text)
    done = command()
    assert done.returncode == CAN_NOT_BE_HAD
    assert "Maven could not fetch pinot-0.11.0" in done.stdout
    assert reason in done.stdout
    assert not maven.PINOT.is_complete
    script(bin_folder / "mvn", WORKS)
    assert jars.fetch() == ""


def test_what_a_failed_try_left_is_neither_complete_nor_kept(bin_folder: Path, jars: Jars) -> None:
    script(bin_folder / "mvn", f"{HALF} exit 1")
    assert jars.fetch() != ""
    assert (jars.lib / "half.jar").exists()
    assert not jars.is_complete
    script(bin_folder / "mvn", WORKS)
    assert jars.fetch() == ""
    assert jars.is_complete
    assert [jar.name for jar in jars.lib.iterdir()] == ["whole.jar"]


def test_jars_of_another_pom_are_not_complete_while_they_are_replaced(bin_folder: Path, jars: Jars) -> None:
    script(bin_folder / "mvn", WORKS)
    assert jars.fetch() == ""
    before = jars.pom.read_text()
    jars.pom.write_text("<project>newer</project>")
    script(bin_folder / "mvn", f"{HALF} exit 1")
    assert jars.fetch() != ""
    jars.pom.write_text(before)
    assert not jars.is_complete, "what was complete for this pom is gone"


def test_a_second_try_may_work(bin_folder: Path, jars: Jars, tmp_path: Path) -> None:
    script(bin_folder / "mvn", f"{WORKS} [ -e {tmp_path}/tried ] && exit 0; touch {tmp_path}/tried; exit 1")
    assert jars.fetch() == ""


def test_a_maven_that_hangs_is_ended_with_all_that_it_started(
    bin_folder: Path, jars: Jars, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script(bin_folder / "mvn", f"{HALF} sleep 600 & echo $! > {tmp_path}/child; wait")
    monkeypatch.setattr(maven, "_PATIENCE_S", 1.5)
    monkeypatch.setattr(maven, "PINOT", jars)
    assert maven.main() == CAN_NOT_BE_HAD
    assert "Maven could not fetch parts: it took" in capsys.readouterr().out
    assert not jars.is_complete
    child = int((tmp_path / "child").read_text())
    wait_until(lambda: _has_ended(child), 30, "the end of Maven's own process")


def _has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_cache_that_cannot_be_written_is_a_reason_too(
    bin_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(bin_folder / "mvn", WORKS)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PINOTADMIN_CACHE", str(tmp_path / "file"))
    done = command()
    assert done.returncode == CAN_NOT_BE_HAD
    assert "cannot be kept in" in done.stdout
    assert "Traceback" not in done.stderr


def test_without_maven_the_reason_is_that(jars: Jars, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PINOTADMIN_CACHE", str(tmp_path / "cache"))
    assert jars.fetch() == "parts needs Maven (mvn) to fetch its jars once"


# .ci/run


def run_ci(folder: Path, seconds: str = "", longest: str = "", **programs: str) -> tuple[int, str, list[str]]:
    """Status, output and calls of ``make`` of a copy of ``.ci/run`` whose programs are these; ``python`` is the one of
    ``.venv`` and the machine's. ``seconds``: what all of it should take, and ``longest`` what it may; empty: as it says
    itself.
    """
    (folder / ".ci").mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci" / "run")
    (folder / "bin").mkdir()
    (folder / ".venv" / "bin").mkdir(parents=True)
    for name in ("dirname", "id", "grep", "rm", "wc", "date", "nice", "cut", "sort"):
        (folder / "bin" / name).symlink_to(str(shutil.which(name)))
    for name, text in {"chromium-headless-shell": "", "make": "", "python": "exit 0", **programs}.items():
        noted = f'echo "$@" >> {folder}/calls\n{text}' if name == "make" else text
        script(folder / (".venv/bin" if name == "python" else "bin") / name, noted)
    (folder / "bin" / "python3").symlink_to(folder / ".venv/bin/python")
    limits = {"WHOLE_SECONDS": seconds, "LONGEST_SECONDS": longest}
    done = subprocess.run(
        ["/bin/sh", str(folder / ".ci" / "run")],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": str(folder / "bin"), "POSTGRESQL": str(folder / "postgresql"), **limits},
    )
    return done.returncode, done.stdout + done.stderr, (folder / "calls").read_text().splitlines()


def test_ci_runs_on_postgresql_where_it_is_installed_and_fails_when_that_does(tmp_path: Path) -> None:
    for folder in (tmp_path / "good", tmp_path / "bad"):
        (folder / "postgresql").mkdir(parents=True)
    status, _, made = run_ci(tmp_path / "good")
    assert (status, made[1:]) == (0, ["test-postgresql-short", "test-scale-short"])
    status, said, made = run_ci(tmp_path / "bad", make='[ "$1" = --keep-going ]', python=FAILED_TWICE)
    assert status != 0
    assert made[1:] == [
        "test-postgresql-short",
        "test-postgresql-short ARGS=--last-failed --last-failed-no-failures=none",
    ]
    assert "FAILED TWICE" in said


def test_ci_fails_where_an_installation_does_not_survive_the_death_of_its_parts(tmp_path: Path) -> None:
    (tmp_path / "bad" / "postgresql").mkdir(parents=True)
    status, said, made = run_ci(tmp_path / "bad", make='[ "${1%%-short*}" != test-scale ]', python=FAILED_TWICE)
    assert status != 0
    assert made[2:] == ["test-scale-short", "test-scale-short ARGS=--last-failed --last-failed-no-failures=none"]
    assert "FAILED TWICE" in said


def test_ci_goes_on_without_real_parts_where_there_is_no_maven(tmp_path: Path) -> None:
    status, said, made = run_ci(tmp_path / "repository")
    assert (status, made) == (0, ["--keep-going test test-installations"])
    assert (
        "SKIPPED: tests with a real Apache Pinot and Kafka. Maven (mvn), which fetches them, is not on this machine."
        in said
    )


def test_ci_goes_on_without_real_parts_where_they_cannot_be_fetched(tmp_path: Path) -> None:
    status, said, made = run_ci(tmp_path / "repository", mvn="", python=f"echo Unknown host; exit {CAN_NOT_BE_HAD}")
    assert (status, made) == (0, ["--keep-going test test-installations"])
    assert said.index("Unknown host") < said.index(
        "SKIPPED: tests with a real Apache Pinot and Kafka. Maven could not fetch them"
    )


def test_ci_fails_where_the_fetching_itself_is_broken(tmp_path: Path) -> None:
    status, said, made = run_ci(tmp_path / "repository", mvn="", python="exit 1")
    assert (status, made) == (1, ["--keep-going test test-installations"])
    assert "SKIPPED: tests with a real" not in said


#: pytest's own list of what failed last, as ``.ci/run`` reads it after each of two runs.
FAILED_ONCE = 'case "$1" in -c) [ -e asked ] || echo tests/real_pinot/test_a.py::test_b; : > asked;; esac'
FAILED_TWICE = 'case "$1" in -c) echo tests/real_pinot/test_a.py::test_b;; esac'


def test_ci_tries_real_parts_once_more_and_then_fails(tmp_path: Path) -> None:
    status, said, made = run_ci(tmp_path / "repository", mvn="", make='[ "$1" = --keep-going ]', python=FAILED_TWICE)
    assert status != 0
    assert made == ["--keep-going test test-installations", "test-real", "test-real ARGS=--last-failed"]
    assert "FAILED TWICE          tests/real_pinot/test_a.py::test_b" in said
    assert run_ci(tmp_path / "other", mvn="")[0] == 0


def test_ci_names_what_failed_first_and_passed_then(tmp_path: Path) -> None:
    status, said, _ = run_ci(tmp_path / "repository", mvn="", make='[ "$*" != test-real ]', python=FAILED_ONCE)
    assert status == 0
    assert "FAILED, THEN PASSED   tests/real_pinot/test_a.py::test_b" in said


def test_ci_fails_when_real_parts_fail_without_a_failed_test(tmp_path: Path) -> None:
    status, said, made = run_ci(tmp_path / "repository", mvn="", make='[ "$1" = --keep-going ]')
    assert (status, made) == (1, ["--keep-going test test-installations", "test-real"])
    assert "No single test failed, but the run did" in said


def test_ci_gives_real_parts_the_time_that_is_left(tmp_path: Path) -> None:
    shown = '[ "$1" != test-real ] || echo "real parts: $REAL_PARTS_SECONDS s"'
    for seconds, given in (("", "1500"), ("60", "300")):
        _, said, _ = run_ci(tmp_path / f"of-{given}", seconds, mvn="", make=shown)
        assert f"real parts: {given} s" in said


def test_ci_leaves_real_parts_out_where_the_others_took_too_long(tmp_path: Path) -> None:
    status, said, made = run_ci(tmp_path / "repository", "60", "200", mvn="")
    assert (status, made) == (0, ["--keep-going test test-installations"])
    assert "SKIPPED: tests with a real Apache Pinot and Kafka. This machine took" in said


#: Tests of four files that failed; four of one file; and one, which passes the second time.
FAILED_FOUR = 'case "$1" in -c) for t in a b c d; do echo tests/test_$t.py::test_it; done;; esac'
FAILED_FILE = 'case "$1" in -c) [ -e asked ] || for t in a b c d; do echo tests/a.py::test_$t; done; : > asked;; esac'
FAILED_BROWSER = 'case "$1" in -c) [ -e asked ] || echo tests/browser/test_a.py::test_b; : > asked;; esac'


def test_ci_repeats_a_few_failed_tests_and_names_those_that_passed_then(tmp_path: Path) -> None:
    make = '[ "$*" != "--keep-going test test-installations" ]'
    status, said, made = run_ci(tmp_path / "repository", make=make, python=FAILED_BROWSER)
    assert (status, made) == (0, ["--keep-going test test-installations", "test-failed"])
    assert "FAILED, THEN PASSED   tests/browser/test_a.py::test_b" in said


def test_ci_repeats_the_tests_of_a_file_whose_shared_part_did_not_start(tmp_path: Path) -> None:
    make = '[ "$*" != "--keep-going test test-installations" ]'
    status, said, made = run_ci(tmp_path / "repository", make=make, python=FAILED_FILE)
    assert (status, made) == (0, ["--keep-going test test-installations", "test-failed"])
    assert said.count("FAILED, THEN PASSED") == 4


def test_ci_fails_when_many_tests_fail_or_none_but_the_run(tmp_path: Path) -> None:
    status, said, made = run_ci(tmp_path / "repository", make="exit 2", python=FAILED_FOUR)
    assert (status, made) == (1, ["--keep-going test test-installations"])
    assert "Tests of more than 3 files failed: they are not repeated." in said
    status, said, made = run_ci(tmp_path / "other", make="exit 2")
    assert (status, made) == (1, ["--keep-going test test-installations"])
    assert "No single test failed, but the run did" in said
    assert "SKIPPED" not in said
