"""Which requests a browser sends, and which of them a page of another site made it send.

A browser adds remembered HTTP Basic credentials to every request to our address, also to one that a foreign page
starts. Its fetch metadata and ``Origin`` say where a request comes from and cannot be set by a page. Another port of
the same host is another origin.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

_OWN: Final = ("same-origin", "none")


def is_foreign(site: str, origin: str, own_origin: str, trusted: Collection[str] = ()) -> bool:
    """Did a page of another origin start the request? ``site`` and ``origin`` are the headers Sec-Fetch-Site and
    Origin, empty when missing; ``own_origin`` is ``https://host:port`` as requested; ``trusted`` are origins of ours
    under other names.

    Without either header it is not a browser, or a GET of one over plain HTTP: see ``is_browser``.
    """
    if origin and origin in trusted:
        return False
    if site:
        return site.strip().lower() not in _OWN
    return bool(origin) and origin.lower() != own_origin.lower()


def is_browser(agent: str, mode: str) -> bool:
    """Was it sent by a browser? ``agent`` and ``mode`` are the headers User-Agent, which a page cannot set, and
    Sec-Fetch-Mode.
    """
    return bool(mode) or agent.startswith("Mozilla/")
