"""The segment completion protocol, pure: which replica commits a consuming segment, at which offset."""

from segments.domain.realtime.completion.machine import Machine, State, committed_machine, from_record, open_machine
from segments.domain.realtime.completion.message import Action, Answer, Kind, Message, Status
from segments.domain.realtime.completion.step import Step, step

__all__ = [
    "Action",
    "Answer",
    "Kind",
    "Machine",
    "Message",
    "State",
    "Status",
    "Step",
    "committed_machine",
    "from_record",
    "open_machine",
    "step",
]
