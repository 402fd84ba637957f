"""Why a message that was set aside gives no row, and what helps."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import Final


class Hindrance(Enum):
    """What stands in the way of one message."""

    CONSUMED = "consumed"
    STREAM = "stream"
    CUT = "cut"
    CONTENT = "content"
    LATER = "later"


#: In the order in which they are worth doing.
_REMEDIES: Final = {
    Hindrance.CONSUMED: "Force a commit of the table's consuming segments, then replay these messages.",
    Hindrance.STREAM: "Correct the table's stream config, or delete the messages of that stream.",
    Hindrance.CONTENT: "Change the schema or the table's transforms, or have null stored for values that do not fit.",
    Hindrance.CUT: "A message that is kept only in part cannot be replayed: have its producer send it again.",
}
_FILTERED: Final = "The table's filter drops these messages: change it if they are to be rows, or delete them."
_GONE: Final = "List the messages again: these were replayed or deleted in between."


def remedy_of(hindrances: Collection[Hindrance], *, filtered: int) -> str:
    """What to do when none of the messages gives a row; a filter, where ``filtered`` messages give none because of it,
    is named where nothing else stands in the way. With neither there was no message.
    """
    found = [sentence for hindrance, sentence in _REMEDIES.items() if hindrance in hindrances]
    return " ".join(found) if found else _FILTERED if filtered else _GONE
