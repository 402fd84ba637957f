"""``pinotadmin drain`` and ``undrain``: what would move, progress to the end, and the way back."""

from __future__ import annotations

import pytest

from pinotadmin_client.commands import draining
from segments.store import paths
from segments.store.records.instances import instance_configs
from tests.api.cluster import TAGS, ApiCluster
from tests.api.clusters.test_drain import NEW, OLD, spread, turn
from tests.client.test_commands import Run, pinotadmin

__all__ = ["pinotadmin", "spread"]


def test_a_server_is_drained_to_the_end_and_given_back(
    spread: ApiCluster, pinotadmin: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pinotadmin_client.commands.draining.sleep", lambda _: turn(spread))
    assert pinotadmin("drain", OLD, "--reason", "disks", "--dry-run") == 0
    assert "9 segments of t_OFFLINE move" in capsys.readouterr().out
    assert pinotadmin("drain", OLD, "--reason", "disks") == 4
    assert instance_configs(spread.memory)[OLD].tags == TAGS
    assert pinotadmin("drain", OLD, "--reason", "disks", "--yes") == 0
    said = capsys.readouterr().out
    assert "0 %, 9 segments to go" in said
    assert "nothing is left on it" in said
    assert pinotadmin("undrain", OLD, "--reason", "back", "--yes") == 0
    assert instance_configs(spread.memory)[OLD].tags == TAGS
    assert pinotadmin("undrain", OLD, "--reason", "again", "--yes") == 1


def test_what_is_in_the_way_is_shown_and_the_wait_has_an_end(
    spread: ApiCluster, pinotadmin: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draining, "_EVERY_S", 0.0)
    assert pinotadmin("drain", OLD, "--reason", "disks", "--yes", "--wait", "0.01") == 1
    assert "the installation goes on with it" in capsys.readouterr().err
    assert pinotadmin("undrain", OLD, "--reason", "back", "--yes") == 0
    spread.memory.delete(paths.live_instance(NEW))
    assert pinotadmin("drain", OLD, "--reason", "disks", "--yes") == 1
    assert "Table 't_OFFLINE' keeps 2 replicas" in capsys.readouterr().err
