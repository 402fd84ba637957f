"""Properties of one run of a pass: what they may be, and that the run gets them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from segments import tasks, wiring
from segments.domain.upkeep.run_properties import REPAIR_ORDERED, RunProperties, parse_run_properties
from segments.errors import InvalidInput
from segments.gateways.celery_queue import CeleryQueue
from segments.services.core.context import Context
from segments.services.jobs.queue import RUN_PERIODIC, start_pass
from segments.services.upkeep import passes
from tests.services.world import World

VALIDATION = "RealtimeSegmentValidationManager"


@pytest.mark.parametrize(("text", "expected"), [("true", True), ("FALSE", False)])
def test_a_run_repairs_ordered_tables_or_not_as_it_is_asked(text: str, expected: bool) -> None:
    assert parse_run_properties(VALIDATION, {REPAIR_ORDERED: text}) == RunProperties(expected)


def test_a_run_that_is_asked_for_nothing_leaves_it_to_the_settings() -> None:
    assert parse_run_properties(VALIDATION, {"runSegmentLevelValidation": "true"}) == RunProperties(None)
    assert parse_run_properties("RetentionManager", {}) == RunProperties(None)


@pytest.mark.parametrize("given", [{REPAIR_ORDERED: "yes"}, {"offsetCriteria": "smallest"}, {"other": "true"}])
def test_what_a_run_does_not_have_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        parse_run_properties(VALIDATION, given)


def test_the_worker_runs_the_pass_with_the_properties_of_the_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)
    sent: list[tuple[list[Any], dict[str, str]]] = []
    ran: list[tuple[str, RunProperties]] = []

    def send(task: str, args: list[Any], kwargs: dict[str, str], **_: Any) -> None:
        assert task == RUN_PERIODIC
        sent.append((args, kwargs))

    def run(ctx: Context, name: str, *_: Any) -> list[str]:
        ran.append((name, ctx.run_properties))
        return []

    monkeypatch.setattr("segments.gateways.celery_queue.current_app.send_task", send)
    monkeypatch.setattr(passes, "run_pass", run)
    asking = replace(world.ctx, queue=CeleryQueue())
    start_pass(asking, VALIDATION, None, {REPAIR_ORDERED: "true"})
    start_pass(asking, VALIDATION, None)
    monkeypatch.setattr(wiring, "context", lambda _cluster: world.ctx)
    for args, kwargs in sent:
        tasks.run_periodic(*args, **kwargs)
    assert ran == [(VALIDATION, RunProperties(True)), (VALIDATION, RunProperties(None))]
