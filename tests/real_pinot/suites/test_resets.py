"""Resets of segments as every kind of cluster has them, on the real Pinot, whose servers carry them out at once: what
was sent to them is tried with simulated ones.
"""

from __future__ import annotations

from tests.real_pinot.suites import shared
from tests.real_pinot.suites.test_segments import empty as empty
from tests.services.segments import test_reset_every_kind

pytestmark = shared.MARKS

for fixture in ("empty", "loaded"):
    globals().update(shared.tests_with(test_reset_every_kind, fixture))
