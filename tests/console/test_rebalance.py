"""The pages of a rebalance: a preview before anything moves, progress, Stop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.test import Client

from segments import wiring
from segments.clusters.embedded.rebalance import keeping
from segments.models import AuditEvent, Grant
from segments.services.rebalance import rebalance
from tests.console.conftest import TYPED, FakeBroker
from tests.factories import CLUSTER, make_table
from tests.rebalance.spread import A, B, C, Spread

PAGE = f"/console/tables/{TYPED}/rebalance/"

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(tmp_path: Path, db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Spread]:
    monkeypatch.setattr(keeping, "_QUIET_S", 0.0)
    made = Spread(tmp_path)
    made.ctx = replace(made.ctx, cluster=CLUSTER)
    make_table(TYPED)
    with wiring.use(made.ctx, FakeBroker()):
        yield made


def test_the_preview_names_servers_and_segments_and_moves_nothing(operator: Client, world: Spread) -> None:
    text = operator.get(f"{PAGE}begin/").content.decode()
    for shown in (A, B, C, "Afterwards", "8 segments move", "s00"):
        assert shown in text
    assert world.load == {A: 12, B: 12}


def test_a_rebalance_is_begun_with_a_reason_followed_and_stopped(operator: Client, world: Spread) -> None:
    assert "No rebalance is on record" in operator.get(PAGE).content.decode()
    assert operator.post(f"{PAGE}begin/", {}).status_code == 422
    text = operator.post(f"{PAGE}begin/", {"reason": "a new server"}, follow=True).content.decode()
    assert "The rebalance is on its way" in text
    assert "requested by olga" in text
    rebalance.keep(world.ctx)
    world.serve_some(4)
    rebalance.keep(world.ctx)
    assert "50 %" in operator.get(f"{PAGE}progress/").content.decode()
    again = operator.get(f"{PAGE}begin/").content.decode()
    assert "A rebalance of this table runs." in again
    assert "It is 50 % done, requested by olga." in again
    assert "Afterwards" not in again, "what is still to be loaded is not known to be moving already"
    refused = operator.post(f"{PAGE}begin/", {"reason": "again"}).content.decode()
    assert "is running" in refused
    assert f"DELETE /tables/{TYPED.removesuffix('_OFFLINE')}/rebalance?type=OFFLINE" in refused
    text = operator.post(f"{PAGE}stop/", {"reason": "enough"}, follow=True).content.decode()
    assert "The rebalance is stopped" in text
    assert "Stopped by olga: enough" in text
    assert operator.get(f"{PAGE}progress/").headers["HX-Refresh"] == "true"
    assert [(e.action, e.outcome) for e in AuditEvent.objects.order_by("pk")] == [
        ("rebalance", "done"),
        ("rebalance", "refused"),
        ("stopRebalance", "done"),
    ]


def test_what_is_balanced_cannot_be_pressed_and_says_so(operator: Client, world: Spread) -> None:
    operator.post(f"{PAGE}begin/", {"reason": "a new server"})
    world.finish()
    text = operator.get(f"{PAGE}begin/").content.decode()
    assert "Nothing is to be moved." in text
    assert "disabled" in text
    assert "No rebalance runs." in operator.get(f"{PAGE}stop/").content.decode()


def test_options_that_cannot_be_kept_are_a_form_error(operator: Client, world: Spread) -> None:
    answer = operator.post(f"{PAGE}begin/", {"reason": "x", "min_available": "7"})
    assert answer.status_code == 422 or answer.status_code == 400
    assert "minAvailableReplicas" in answer.content.decode()


def test_who_may_not_operate_moves_nothing(viewer: Client, world: Spread) -> None:
    assert viewer.post(f"{PAGE}begin/", {"reason": "x"}).status_code == 403
    assert viewer.post(f"{PAGE}stop/", {"reason": "x"}).status_code == 403
    assert world.newest() is None


def test_buttons_are_for_who_may_operate_this_table(operator: Client, viewer: Client, world: Spread) -> None:
    operator.post(f"{PAGE}begin/", {"reason": "a new server"})
    buttons = (f'href="{PAGE}begin/"', f'href="{PAGE}stop/"')
    for page in (PAGE, f"{PAGE}progress/"):
        assert not any(button in viewer.get(page).content.decode() for button in buttons)
        assert buttons[1] in operator.get(page).content.decode()
    Grant.objects.create(user_id=viewer.session["_auth_user_id"], cluster=CLUSTER, tables=TYPED, right="operate")
    assert all(button in viewer.get(PAGE).content.decode() for button in buttons)
