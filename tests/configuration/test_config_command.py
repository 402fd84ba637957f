"""`pinotadmin config show|check` as an operator runs it, and the documents that list the settings."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pinotadmin.version import VERSION
from tests.processes.conftest import PROJECT


def pinotadmin(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command with these settings, and none of this process'."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PINOTADMIN_")}
    return subprocess.run(
        [sys.executable, "-m", "pinotadmin", *arguments],
        cwd=PROJECT, capture_output=True, text=True, timeout=60, check=False, env=kept | environment,
    )  # fmt: skip


def test_everything_that_is_wrong_is_listed_at_once_and_no_secret_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "pinotadmin.toml"
    file.write_text('PINOTADMIN_CLUSTER_SECRET = "0123456789abcdef-hidden"\nPINOTADMIN_PORT = 70000\n')
    file.chmod(0o644)
    done = pinotadmin("config", "check", PINOTADMIN_CONFIG=str(file), PINOTADMIN_HOTS="x", PINOTADMIN_DEBUG="maybe")
    assert (done.returncode, done.stderr) == (1, "")
    for said in (
        "PINOTADMIN_PORT must be from 0 to 65535",
        "PINOTADMIN_DEBUG must be true or false",
        "PINOTADMIN_HOTS is not a setting. Did you mean PINOTADMIN_HOST?",
        f"others can read {file}, which holds PINOTADMIN_CLUSTER_SECRET. Run chmod 600 {file}.",
        "The secret PINOTADMIN_CLUSTER_SECRET has 23 characters; it takes 32 at least.",
        "5 wrong, 0 to consider.",
    ):
        assert said in done.stdout
    assert "hidden" not in done.stdout


@pytest.mark.parametrize("command", [["config", "show"], ["tables", "--help"]])
def test_who_reads_only_the_first_lines_sees_no_traceback(command: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as nobody:
        line = [sys.executable, "-m", "pinotadmin", *command]
        done = subprocess.run(line, cwd=PROJECT, stdout=nobody, stderr=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_each_value_is_shown_with_its_source_and_secrets_masked() -> None:
    done = pinotadmin(
        "config", "show", "--json", REDIS_URL="redis://:s3same@10.0.0.7/0", PINOTADMIN_SECRET_KEY="x" * 40
    )
    found = {s["name"]: s for s in json.loads(done.stdout)["settings"]}
    assert (found["REDIS_URL"]["value"], found["REDIS_URL"]["source"]) == ("redis://:*****@10.0.0.7/0", "environment")
    assert found["PINOTADMIN_SECRET_KEY"]["value"] == "*****"
    assert (found["PINOTADMIN_HOST"]["value"], found["PINOTADMIN_HOST"]["source"]) == ("127.0.0.1", "default")
    undocumented = [n for n in found if not _is_documented(n, (PROJECT / "docs/operations.md").read_text())]
    assert undocumented == []


def _is_documented(name: str, text: str) -> bool:
    """Mail settings share a line that names their common beginning."""
    return name in text or (name.startswith("PINOTADMIN_MAIL_") and f"`{name.removeprefix('PINOTADMIN_MAIL')}`" in text)


def test_every_setting_in_the_documents_is_one() -> None:
    shown = pinotadmin("config", "show", "--json").stdout
    known = {s["name"] for s in json.loads(shown)["settings"]}
    named = set(re.findall(r"^- .*", (PROJECT / "docs/operations.md").read_text(), re.MULTILINE))
    names = {n for line in named for n in re.findall(r"`(PINOTADMIN_[A-Z_0-9]+)`", line.partition("(default")[0])}
    others = {"PINOTADMIN_CONFIG", "PINOTADMIN_MAIL", "PINOTADMIN_CACHE"}
    assert (len(names) > 40, sorted(names - known - others)) == (True, [])


def test_a_part_that_does_not_answer_is_named_with_the_reason() -> None:
    done = pinotadmin(
        "config", "check", "--connect",
        ZOOKEEPER_URL="127.0.0.1:1", REDIS_URL="redis://127.0.0.1:1/0", DEEP_STORE_URL="none", DATABASE_URL="sqlite://",
    )  # fmt: skip
    assert re.findall("error: (.*?) cannot be used", done.stdout) == ["ZOOKEEPER_URL", "REDIS_URL"]
    assert "127.0.0.1:1" in done.stdout


def test_what_would_stop_a_part_later_is_named_before_it_starts(tmp_path: Path) -> None:
    done = pinotadmin(
        "config", "check",
        PINOTADMIN_PATH_PREFIX="/tables", PINOTADMIN_INPUT_LOGINS=str(tmp_path / "none.json"),
        PINOTADMIN_SECRET_KEY="ab" * 32, ZOOKEEPER_URL="zk:70000", REDIS_URL="http://:s3same@h/0",
        ZOOKEEPER_AUTH="me:s3same",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    for said in (
        "PINOTADMIN_PATH_PREFIX must not begin with /tables",
        f"PINOTADMIN_INPUT_LOGINS: {tmp_path}/none.json is not there, or cannot be read.",
        "ZOOKEEPER_AUTH: A login for ZooKeeper has a form that is not known. Use digest:USER:PASSWORD",
        "The secret PINOTADMIN_SECRET_KEY is a few characters repeated.",
        "ZOOKEEPER_URL must be host:port[,host:port…][/chroot], not 'zk:70000'.",
        "REDIS_URL must be an address such as redis://",
        "6 wrong, 0 to consider.",
    ):
        assert said in done.stdout, done.stdout
    assert "s3same" not in done.stdout


def test_a_database_whose_driver_is_not_installed_is_named_with_the_extra_that_brings_it(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'psycopg' else find(name, *more)\n"
    )
    given = {"DATABASE_URL": "postgresql://me:s3same@127.0.0.1:1/x", "PYTHONPATH": str(tmp_path)}
    for arguments, said in ((("config", "check"), "1 wrong, 0 to consider."), (("up",), "error: DATABASE_URL names")):
        done = pinotadmin(*arguments, **given)
        text = done.stdout + done.stderr
        assert (done.returncode, said in text, "make install EXTRAS=postgres" in text) == (1, True, True), text
        assert ("s3same" in text, "Traceback" in text) == (False, False)


def test_the_version_is_the_programs_own() -> None:
    assert pinotadmin("--version").stdout == f"pinotadmin {VERSION}\n"


def test_a_wrong_setting_is_one_line_for_every_other_command() -> None:
    done = pinotadmin("up", PINOTADMIN_PORT="many")
    assert (done.returncode, done.stderr) == (1, "error: PINOTADMIN_PORT must be a whole number, not 'many'.\n")
