"""Where segments are kept: what `up` takes from its command line and the environment, and refuses before anything
starts.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import override_settings

from segments.errors import InvalidInput
from segments.management.commands.run_server import _settings
from segments.processes.machine.storage import checked_storage


def test_the_command_line_goes_before_the_environment(tmp_path: Path) -> None:
    environ = {"DEEP_STORE_URL": f"file://{tmp_path}/a", "PINOTADMIN_UPLOAD_TIMEOUT_S": "20", "HOME": "/root"}
    assert checked_storage({"DEEP_STORE_URL": "none", "PINOTADMIN_SEGMENT_STORE_URL": ""}, environ) == {
        "DEEP_STORE_URL": "none", "PINOTADMIN_UPLOAD_TIMEOUT_S": "20",
    }  # fmt: skip
    assert checked_storage({}, {}) == {}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("DEEP_STORE_URL", "nowhere://x", "cannot be opened"),
        ("PINOTADMIN_SEGMENT_STORE_URL", "here", "cannot be opened"),
        ("PINOTADMIN_UPLOAD_TIMEOUT_S", "0", "1 or more"),
        ("PINOTADMIN_UPLOAD_TIMEOUT_S", "5 min", "whole number of seconds"),
        ("PINOTADMIN_UPLOAD_TO_CONTROLLER", "yes", "true or false"),
        ("PINOTADMIN_READ_AHEAD_BYTES", "much", "number of bytes"),
    ],
)
def test_what_cannot_work_is_refused_by_name(name: str, text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name}.*{said}"):
        checked_storage({}, {name: text})


def test_servers_cannot_reach_a_deep_store_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="PINOTADMIN_SEGMENT_STORE_URL says where"):
        checked_storage({"DEEP_STORE_URL": "none"}, {"PINOTADMIN_SEGMENT_STORE_URL": f"file://{tmp_path}"})


@override_settings(
    SEGMENT_STORE_URL="none", UPLOAD_TO_CONTROLLER=True, UPLOAD_TIMEOUT_S=7, READ_AHEAD_BYTES=5, DEEP_STORE_TIMEOUT_S=3
)
def test_servers_are_started_with_the_settings() -> None:
    found = _settings({"host": "127.0.0.1", "port": 1, "admin_port": 0, "name": "server-1"})
    assert (found.segment_store_url, found.deep_store_timeout_s) == ("", 3)
    assert (found.consuming.uploads_through_controller, found.consuming.upload_s, found.consuming.ahead_bytes) == (
        True,
        7.0,
        5,
    )
