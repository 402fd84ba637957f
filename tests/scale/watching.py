"""Asks queries and pages of an installation all the time, and notes what went wrong and how long it took."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

import requests

from tests.integration.running import Client

#: Requests of the administrator next to the queries: a list over REST, a page, what the mirror wrote.
_OTHERS: Final = ("/tables", "/api/v1/pushes", "/", "/tables/kept/idealstate")
#: What may be answered by others than queries: something is away; nginx lost the web process in the middle of it.
AWAY: Final = {502, 503}


@dataclass
class Watch:
    """Seconds of queries, those that failed, and answers by status of everything else. ``endpoints``: endpoints.json;
    "brokers" in it: several addresses that take turns, where no port is shared.
    """

    endpoints: dict[str, Any]
    took: list[float] = field(default_factory=list)
    #: Those of more than a second: when they began (of the monotonic clock), and how long they took.
    slow: list[tuple[float, float]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    #: Queries that were sent once more because their connection was cut, as a load balancer does.
    repeated: int = 0
    others: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._over, self._turn = threading.Event(), 0
        self._brokers = self.endpoints.get("brokers") or [self.endpoints["broker"]]
        work = (self._ask_queries, self._ask_others)
        self._threads = [threading.Thread(target=one, daemon=True) for one in work]

    def __enter__(self) -> Watch:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(60)

    def _ask_queries(self) -> None:
        while not self._over.is_set():
            began = time.monotonic()
            try:
                found = self._query(again=True)
            except (requests.RequestException, ValueError, KeyError) as error:
                self.failed.append(repr(error)[:300])
            else:
                if found != [[10]]:
                    self.failed.append(str(found)[:300])
            self.took.append(time.monotonic() - began)
            if self.took[-1] > 1:
                self.slow.append((began, self.took[-1]))
            self._over.wait(0.02)

    def _query(self, *, again: bool) -> Any:
        headers = {"Authorization": self.endpoints["authorization"], "Connection": "close"}
        self._turn += 1
        address = f"{self._brokers[self._turn % len(self._brokers)]}/query/sql"
        body = {"sql": "select count(*) from kept"}
        try:
            answer = requests.post(
                address, json=body, timeout=20, headers=headers, verify=self.endpoints.get("authorities") or True
            ).json()
        except requests.ConnectionError:
            if not again:
                raise
            self.repeated += 1
            return self._query(again=False)
        return answer["exceptions"] or answer["resultTable"]["rows"]

    def _ask_others(self) -> None:
        session, number = Client(self.endpoints).http, 0
        while not self._over.is_set():
            path = _OTHERS[number % len(_OTHERS)]
            number += 1
            try:
                self.others[session.get(self.endpoints["controller"] + path, timeout=30).status_code] += 1
            except requests.RequestException:
                self.others[0] += 1
            self._over.wait(0.1)
