"""Fix it on a Pinot cluster: its controller resets replicas in ERROR, and all else is its own validation's."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.errors import StateConflict
from segments.models import AuditEvent, Finding
from segments.services.upkeep.finding_fixes import fix, plan_fix
from tests.factories import make_finding
from tests.services.realtime.kinds import kind_of
from tests.services.realtime.test_realtime_validation import view
from tests.services.realtime_world import ANN, TABLE

pytestmark = pytest.mark.django_db


def finding(cluster: str, code: str, subject: str) -> Finding:
    return make_finding(cluster=cluster, table_name=TABLE.typed, code=code, subject=subject)


def test_replicas_in_error_are_reset_one_by_one_by_its_controller(tmp_path: Path) -> None:
    kind = kind_of("1.5.1", tmp_path, partitions=1)
    segment = kind.inside.consuming[0]
    view(kind.inside, **{"8099": "ERROR"})
    found = finding(kind.ctx.cluster, "replica-error", segment)
    [write] = plan_fix(kind.ctx, TABLE, found).writes
    assert f"/segments/{TABLE.typed}/{segment}/reset?targetInstance=Server_s_8099" in write
    assert fix(kind.ctx, TABLE, found, actor=ANN) == [
        f"Reset 1 replica of {segment} in ERROR.",
        "The next pass checks the table, which closes the finding if it is gone.",
    ]
    assert AuditEvent.objects.get(action="fixFinding").detail["writes"] == [write]
    view(kind.inside)
    assert "No replica" in plan_fix(kind.ctx, TABLE, found).why_not


def test_all_else_is_left_to_its_own_validation(tmp_path: Path) -> None:
    kind = kind_of("0.11.0", tmp_path, partitions=1)
    found = finding(kind.ctx.cluster, "consumption-next", "0")
    assert "RealtimeSegmentValidationManager" in plan_fix(kind.ctx, TABLE, found).why_not
    with pytest.raises(StateConflict):
        fix(kind.ctx, TABLE, found, actor=ANN)
