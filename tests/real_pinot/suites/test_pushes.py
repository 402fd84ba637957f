"""Pushes as every kind of cluster has them, onto the real Pinot."""

from __future__ import annotations

from tests.push import test_every_kind
from tests.real_pinot.suites import shared
from tests.real_pinot.suites.test_segments import empty as empty

pytestmark = shared.MARKS

globals().update(shared.tests_with(test_every_kind, "empty") | shared.tests_with(test_every_kind, "pushing"))
