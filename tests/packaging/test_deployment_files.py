"""What hosts and containers are set up with names what there is. Nothing is built here: that takes a builder."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from pinotadmin.configuration.given import Given
from segments.management.commands.run import ROLES, Command
from tests.packaging.settings_named import known_settings

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "deployment/systemd/pinotadmin@.service"
CONTAINERFILE = ROOT / "deployment/Containerfile"


def unit_lines() -> list[tuple[str, str, str]]:
    """(section, key, value); every line is one of these, a heading or a comment."""
    found, section = [], ""
    for line in UNIT.read_text().splitlines():
        if re.fullmatch(r"\[\w+\]", line):
            section = line[1:-1]
        elif line and not line.startswith("#"):
            key, equals, value = line.partition("=")
            assert equals, line
            found.append((section, key, value))
    return found


def instructions() -> list[tuple[str, list[str]]]:
    """(name, words) of the Containerfile, lines that go on put together."""
    text = re.sub(r"\\\n\s*", "", CONTAINERFILE.read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split()[0], line.split()[1:]) for line in lines]


def test_a_unit_starts_every_role_again_and_gives_it_no_more_rights_than_it_needs() -> None:
    values = {(section, key): value for section, key, value in unit_lines()}
    command = shlex.split(values["Service", "ExecStart"])
    assert command[1:3] == ["run", "%i"]
    parser = Command().create_parser("pinotadmin", "run")
    for role in ROLES:
        assert parser.parse_args([role]).role == role
    options = re.search(r'PINOTADMIN_RUN_OPTIONS="([^"]*)"', UNIT.read_text())
    assert options is not None
    assert parser.parse_args(["server", *shlex.split(options[1])]).admin_port == 8097
    assert (values["Service", "Restart"], values["Service", "User"]) == ("always", "pinotadmin")
    assert (values["Service", "NoNewPrivileges"], values["Service", "ProtectSystem"]) == ("true", "strict")
    assert {section for section, _, _ in unit_lines()} == {"Unit", "Service", "Install"}


def test_config_check_in_the_environment_of_a_unit_names_nothing_that_the_unit_itself_asks_for() -> None:
    named = set(re.findall(r"\bPINOTADMIN_[A-Z_]+\b", UNIT.read_text()))
    assert {"PINOTADMIN_CONFIG", "PINOTADMIN_DATA_DIR", "PINOTADMIN_RUN_OPTIONS"} <= named
    given = Given(dict.fromkeys(named - {"PINOTADMIN_CONFIG"}, "1"))
    assert {name for name, _ in given.unknown()} - known_settings() == set()


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze is installed: the unit is parsed by the other test only")
    unit = tmp_path / "pinotadmin@web.service"
    unit.write_text(UNIT.read_text().replace("/opt/pinotadmin/bin/pinotadmin", "/bin/true"))
    ended = subprocess.run([analyze, "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False)
    assert "pinotadmin@web" not in ended.stderr, ended.stderr


def test_the_image_is_made_of_files_that_are_there_and_runs_as_nobody_special() -> None:
    steps = instructions()
    copied = [word for name, words in steps if name == "COPY" and words[0] != "--from=build" for word in words[:-1]]
    assert [file for file in copied if not (ROOT / file).exists()] == []
    assert {"pinotadmin", "segments", "templates", "pinotadmin_client"} <= set(copied), "what setup.py packs"
    assert {name for name, _ in steps} <= {
        "FROM", "WORKDIR", "RUN", "ENV", "COPY", "USER", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD",
    }  # fmt: skip
    assert [words for name, words in steps if name == "USER"] == [["10001:10001"]]
    installs = [" ".join(words) for name, words in steps if name == "RUN" and "install" in words]
    for command in (part for line in installs for part in line.split("&&") if "pip install" in part):
        assert "--require-hashes" in command or "--no-deps" in command, command
    assert "/" not in next(words for name, words in steps if name == "FROM")[0], "no registry is named"


def test_the_image_sets_what_are_settings_and_opens_the_ports_that_its_parts_listen_at() -> None:
    steps = instructions()
    given = {word.partition("=")[0] for name, words in steps if name == "ENV" for word in words}
    assert {name for name in given if name.startswith("PINOTADMIN_")} - known_settings() == set()
    run = Command().create_parser("pinotadmin", "run")
    listening = {settings.PORT, run.parse_args(["server"]).admin_port}
    assert [{int(word) for word in words} for name, words in steps if name == "EXPOSE"] == [listening]
