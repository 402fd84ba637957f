"""Rollbacks undone as every kind of cluster has it, on the real Pinot."""

from __future__ import annotations

from tests.real_pinot.suites import shared
from tests.real_pinot.suites.test_segments import empty as empty
from tests.services.replacement.undo import test_every_kind

pytestmark = shared.MARKS

for fixture in ("empty", "kind", "chain"):
    globals().update(shared.tests_with(test_every_kind, fixture))
