"""The segment completion protocol, pure: which replica commits a consuming segment, at which offset."""

from segments.domain.realtime.completion.machine import (
    PAUSELESS,
    STANDARD,
    Machine,
    State,
    committed_machine,
    committing_machine,
    from_record,
    open_machine,
)
from segments.domain.realtime.completion.message import Action, Answer, Kind, Message, Status
from segments.domain.realtime.completion.step import Step, may_start, step

__all__ = [
    "PAUSELESS",
    "STANDARD",
    "Action",
    "Answer",
    "Kind",
    "Machine",
    "Message",
    "State",
    "Status",
    "Step",
    "committed_machine",
    "committing_machine",
    "from_record",
    "may_start",
    "open_machine",
    "step",
]
