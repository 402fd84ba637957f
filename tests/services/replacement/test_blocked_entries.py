"""An entry that its checks refused keeps the documented period, though its client stops its heartbeats (rules
`entry-lease` and `checked-before-switch` together).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.services.replacement import entry_reaper
from segments.services.replacement.checks import snapshot_checks
from segments.services.replacement.checks.check_settings import CHECKS
from segments.services.replacement.entry_lease import heartbeat
from segments.services.replacement.protocol import end_replace, start_replace
from segments.store import paths
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db


def pass_time(world: World, seconds: int, every: int) -> None:
    """Run the reaper every few seconds for a while."""
    for _ in range(seconds // every):
        world.now += every * 1000
        entry_reaper.run(world.ctx, TABLE)


@pytest.mark.parametrize(("is_refused", "state"), [(True, "IN_PROGRESS"), (False, "REVERTED")])
def test_people_get_the_period_to_decide(tmp_path: Path, is_refused: bool, state: str) -> None:
    world = World(tmp_path).upload("a")
    start_replace(world.ctx, TABLE, ["a"], ["b"], actor=ANN, entry_id="open")
    world.upload("b")
    heartbeat(world.ctx, TABLE, "open", ANN)
    if is_refused:
        node = world.memory.get(paths.table_config(TABLE.typed))
        assert node is not None
        assert node.record is not None
        checks = (
            '{"customConfigs": {"' + CHECKS + '": "{\\"checks\\": [{\\"kind\\": \\"rowCount\\", \\"min\\": 99}]}"}}'
        )
        world.memory.replace(paths.table_config(TABLE.typed), node.record.with_simple(metadata=checks), node.version)
        with pytest.raises(snapshot_checks.ChecksFailed):
            end_replace(world.ctx, TABLE, "open", actor=ANN)
    pass_time(world, 120, every=5)
    assert world.state("open") == state
    pass_time(world, 23 * 3600, every=600)
    assert world.state("open") == state
    pass_time(world, 2 * 3600, every=600)
    assert world.state("open") == "REVERTED"
