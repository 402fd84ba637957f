"""Stream messages that gave no row: what is kept of each, within which bounds, and what is shown of it. Pure values and
rules.
"""

from __future__ import annotations

from segments.domain.set_aside.hindrance import Hindrance, remedy_of
from segments.domain.set_aside.message import LARGEST_PAYLOAD, Message, Report, Settled, cut_payload, place_of
from segments.domain.set_aside.shown import Shown, shown_payload, shown_reason

__all__ = [
    "LARGEST_PAYLOAD",
    "Hindrance",
    "Message",
    "Report",
    "Settled",
    "Shown",
    "cut_payload",
    "place_of",
    "remedy_of",
    "shown_payload",
    "shown_reason",
]
