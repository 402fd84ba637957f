"""A call of the REST API as declared for a button, and as text for a shell."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import quote, urlencode

#: Stands for the token, which is in the caller's environment and on no page.
BEARER: Final = "Authorization: Bearer $PINOTADMIN_TOKEN"
REASON: Final = "X-Reason: why"
#: Calls that are written out where each thing takes one of its own.
_MOST: Final = 20
#: Paths of the whole installation, which no cluster's name precedes.
_OF_THE_INSTALLATION: Final = ("api/v1/tokens", "api/v1/webhooks", "api/v1/schedules", "api/v1/clusters")
_NAME: Final = re.compile(r"{(\w+)}")


@dataclass(frozen=True)
class Pressed:
    """What a call is written for. ``names``: what the address names, ``table``, its ``kind`` (OFFLINE or REALTIME) and
    ``person``; ``chosen``: what the page carries under a name; ``root``: the installation's address, with a slash at
    its end; ``cluster``: empty for its own.
    """

    names: Mapping[str, str]
    chosen: Callable[[str], Sequence[str]]
    root: str
    cluster: str = ""

    def named(self, key: str) -> str:
        """What stands for ``{key}``; what the page does not know is left to the caller, in capitals."""
        return self.names.get(key) or ",".join(self.chosen(key)) or key.upper()


@dataclass(frozen=True)
class Rest:
    """``path`` as ``api.routes`` has it; names in braces, there and in ``query``, are those of
    ``Pressed.named``.

    ``body``: what is sent as JSON, None: nothing. ``file``: it is sent from a file of this name instead. ``each``: one
    call for every value that the page carries under this name.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Callable[[Pressed], Any] | None = None
    file: str = ""
    each: str = ""


def as_curl(rest: Rest, pressed: Pressed) -> str:
    """The call as lines for a shell."""
    if not rest.each:
        return _line(rest, pressed)
    values = pressed.chosen(rest.each)
    lines = [_line(rest, replace(pressed, names={**pressed.names, rest.each: value})) for value in values[:_MOST]]
    more = [f"# and {len(values) - _MOST} more"] if len(values) > _MOST else []
    return "\n".join([*lines, *more])


def _line(rest: Rest, pressed: Pressed) -> str:
    path = _NAME.sub(lambda found: quote(pressed.named(found[1]), safe=""), rest.path)
    query = {key: _NAME.sub(lambda found: pressed.named(found[1]), value) for key, value in rest.query.items()}
    is_of_cluster = pressed.cluster and not path.startswith(_OF_THE_INSTALLATION)
    prefix = f"clusters/{pressed.cluster}/" if is_of_cluster else ""
    address = f"{pressed.root}{prefix}{path}{'?' + urlencode(query) if query else ''}"
    words = ["-H", shlex.quote(REASON), *_sent(rest, pressed), shlex.quote(address)]
    return f'curl -X {rest.method} -H "{BEARER}" {" ".join(words)}'


def _sent(rest: Rest, pressed: Pressed) -> list[str]:
    if rest.file:
        sent = f"@{rest.file}"
    elif rest.body is not None:
        sent = json.dumps(rest.body(pressed))
    else:
        return []
    return ["-H", shlex.quote("Content-Type: application/json"), "--data", shlex.quote(sent)]
