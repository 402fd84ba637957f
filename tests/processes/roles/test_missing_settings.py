"""A part that was not given what all parts share says which setting that is, and ends, whatever its role."""

from __future__ import annotations

import secrets
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from segments.management.commands.run import _SHARED, ROLES

GIVEN = {
    "PINOTADMIN_CLUSTER_SECRET": secrets.token_hex(32), "PINOTADMIN_SECRET_KEY": secrets.token_hex(32),
    "ZOOKEEPER_URL": "127.0.0.1:1", "REDIS_URL": "redis://127.0.0.1:1/0", "DATABASE_URL": "sqlite://",
    "DEEP_STORE_URL": "none",
}  # fmt: skip


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("missing", _SHARED)
def test_a_part_without_one_of_them_names_it(monkeypatch: pytest.MonkeyPatch, role: str, missing: str) -> None:
    assert set(GIVEN) == set(_SHARED)
    for name, text in GIVEN.items():
        monkeypatch.setenv(name, "" if name == missing else text)
    with pytest.raises(CommandError, match=f"^{missing} is not set, so this {role} cannot join a cluster"):
        call_command("run", role)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", ["PINOTADMIN_CLUSTER_SECRET", "PINOTADMIN_SECRET_KEY"])
def test_a_part_with_a_weak_secret_names_it_and_not_its_text(
    monkeypatch: pytest.MonkeyPatch, settings: Any, role: str, name: str
) -> None:
    for one, text in GIVEN.items():
        monkeypatch.setenv(one, text)
    settings.SHARED_SECRETS = {name: "hidden-7"}
    with pytest.raises(CommandError, match=f"The secret {name} has 8 characters") as refused:
        call_command("run", role)
    assert "hidden-7" not in str(refused.value)
