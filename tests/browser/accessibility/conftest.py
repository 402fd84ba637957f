"""The superuser who sees all pages."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from tests.browser.accessibility.rows import make_rows


@pytest.fixture
def root(transactional_db: None) -> User:
    """Of an installation that has a row of everything that people make."""
    return make_rows()
