"""What names of settings there are, and which of them are secrets."""

from __future__ import annotations

import pinotadmin.settings
from pinotadmin.configuration.given import CLIENT, FILE, given


def known_settings() -> set[str]:
    """What ``pinotadmin config show`` lists, and the name of the file itself."""
    assert pinotadmin.settings.VERSION, "they declare themselves when they are imported"
    return {FILE, *(name for name in given.settings if name not in CLIENT)}


def secret_settings() -> set[str]:
    """Those that are masked."""
    return {setting.name for setting in given.settings.values() if setting.is_secret}
