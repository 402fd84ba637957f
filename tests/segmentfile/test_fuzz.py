"""A short fuzz campaign; the long one is ``python -m tests.segmentfile.fuzz``."""

import pytest

from tests.segmentfile.fuzz import campaign


@pytest.mark.parametrize("seed", [11, 12])
def test_damage_is_reported_or_harmless(seed):
    outcomes, failures = campaign(250, seed)
    assert failures == []
    assert outcomes["SegmentCorrupt"] > 20  # the damage does reach the readers
    assert outcomes["read, and verify tells the fault"] > 20
