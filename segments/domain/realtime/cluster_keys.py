"""Values of cluster settings that have a meaning here: one that has none is refused before it takes the place of a good
one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from segments.domain.realtime.repair.recovery_mode import RECOVERY_MODE_KEY, check_mode
from segments.errors import InvalidInput


def _is_positive(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 18 and int(text) > 0


def _is_switch(text: str) -> bool:
    return text.strip().lower() in ("true", "false")


def _is_share(text: str) -> bool:
    try:
        return 0 < float(text) <= 1
    except ValueError:
        return False


_MILLISECONDS: Final = (_is_positive, "Give a number of milliseconds above 0.")
_SWITCH: Final = (_is_switch, "Use true or false.")
_SHARE: Final = (_is_share, "Give a share above 0 and up to 1, such as 0.95.")
#: Key -> (is the text one of its values?, what to give instead).
_KNOWN: Final[Mapping[str, tuple[Callable[[str], bool], str]]] = {
    "max.segment.completion.time.millis": _MILLISECONDS,
    "controller.segment.error.autoReset": _SWITCH,
    "controller.realtime.segment.partialOfflineReplicaRepairEnabled": _SWITCH,
    "controller.enable.resource.utilization.check": _SWITCH,
    "controller.lineage.exclusive.delete.enabled": _SWITCH,
    "controller.disk.utilization.threshold": _SHARE,
    "pinotadmin.disk.utilization.resume.threshold": _SHARE,
}


def check_cluster_settings(changes: Mapping[str, str]) -> None:
    """InvalidInput naming the key whose text is none of its values; keys of others are theirs. Pinot keeps the value
    that it had, and says so in its log alone.
    """
    check_mode(changes.get(RECOVERY_MODE_KEY), RECOVERY_MODE_KEY)
    for key, text in changes.items():
        fits, remedy = _KNOWN.get(key, (None, ""))
        if fits is not None and not fits(text):
            raise InvalidInput(f"'{key}' is '{text[:100]}'.", remedy=remedy)
