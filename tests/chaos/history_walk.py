"""A walk by chance through a table's history: pushes, refreshes by name, rollbacks over one or several steps, undos,
deletions and restores, with questions beside it.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import requests

from tests.background import Background
from tests.integration.running import Client, Installation
from tests.waiting import poll

TABLE, ROWS = "history", 5
Seen = dict[str, str]
"""{segment that queries see: its content, ``key@version``}"""
#: Right answers in a row after which both replicas of every segment have given one.
_BOTH = 12
KILLED = ("web", "zookeeper", "mirror", "worker", "repairs", "passes", "validation")


class Answers:
    """Asks all the time, beside the walk: every whole answer must be one of the states that may be seen then."""

    def __init__(self, endpoints: dict[str, Any], table: str = TABLE) -> None:
        self.client, self.allowed, self.wrong, self.whole = Client(endpoints), list[Seen](), list[str](), 0
        self._table = table
        self.background = Background(self._ask, 0.01)

    def now(self) -> dict[str, int] | None:
        """{content: rows}, None while nothing answers."""
        try:
            return self.client.counts(self._table)
        except (AssertionError, requests.RequestException, ValueError):
            return None

    def _ask(self) -> None:
        before = list(self.allowed)
        answer = self.now()
        if answer is None:
            return
        self.whole += 1
        states = [dict.fromkeys(seen.values(), ROWS) for seen in (*before, *self.allowed)]
        if answer not in states:
            self.wrong.append(f"{answer} is none of {states}")


class Walk:
    """``seen`` is what queries must see; ``entries``: the two sides of each push that may be taken back,
    oldest first. ``strikes``: the share of steps during which it kills a process itself.
    """

    def __init__(self, installation: Installation, seed: int, strikes: float = 0.3) -> None:
        self.installation, self.random = installation, random.Random(seed)
        self._seed, self._strikes = seed, strikes
        self.client, self.answers = Client(installation.endpoints), Answers(installation.endpoints)
        self.seen: Seen = {}
        self.entries: dict[str, tuple[Seen, Seen]] = {}
        self.rolled_back: tuple[str, Seen, Seen] | None = None
        self.count, self.done = 0, list[str]()

    def begin(self) -> None:
        """Three segments, and questions all the time from now on."""
        self.client.create(TABLE)
        for number in range(3):
            self.client.upload(TABLE, f"s{self.number()}", rows=ROWS, value=f"k{number}@0")
        self.seen = {f"s{n + 1}": f"k{n}@0" for n in range(3)}
        poll(lambda: self.answers.now() == dict.fromkeys(self.seen.values(), ROWS), 30, "the first state")
        self.answers.allowed = [self.seen]
        self.answers.background.start()

    def step(self) -> None:
        """One of them, by chance."""
        changes = (self.push, self.refresh, self.roll_back, self.undo)
        self.random.choice([*changes, self.push, self.roll_back, self.undo, self.delete_and_restore])()

    def number(self) -> int:
        self.count += 1
        return self.count

    def strike(self) -> None:
        """kill -9 of one process, unless one is down already."""
        try:
            found = self.installation.endpoints
        except FileNotFoundError:
            return
        victims = {name: pid for name, pid in found["pids"].items() if name in KILLED}
        victims |= {s["instance"]: s["pid"] for s in found["servers"] if s["pid"]}
        name = self.random.choice(sorted(victims))
        with suppress(ProcessLookupError):
            os.kill(victims[name], signal.SIGKILL)
            self.done.append(f"kill {name}")

    def change(self, name: str, goal: Seen, act: Callable[[], object]) -> bool:
        """Done: the goal is seen at once. Refused or cut: the old state or the goal, and what is shown then stays."""
        self.done.append(name)
        self.answers.allowed = [self.seen, goal]
        is_struck = self.random.random() < self._strikes
        killer = threading.Timer(self.random.uniform(0, 0.15), self.strike)
        if is_struck:
            killer.start()
        try:
            act()
        except (AssertionError, requests.RequestException):
            killer.join() if is_struck else None
            after = f"after {self.done}, seed {self._seed}"
            poll(lambda: (self.installation.folder / "endpoints.json").exists(), 120, f"healthy {after}")
            shown = poll(lambda: self.shown([self.seen, goal]), 120, f"one of the two sides {after}")
        else:
            killer.join() if is_struck else None
            shown = [goal]
        self.seen = shown[0]
        # Replicas take turns, and after a refresh by name each has the new rows when it has loaded them.
        what = f"{self.seen} after {self.done}, seed {self._seed}"
        poll(lambda: all(self.is_shown() for _ in range(_BOTH)), 60, what)
        self.answers.allowed = [self.seen]
        return self.seen == goal

    def is_shown(self) -> bool:
        """Does a query see what it must?"""
        return self.answers.now() == dict.fromkeys(self.seen.values(), ROWS)

    def shown(self, states: list[Seen]) -> list[Seen]:
        """The state that is shown, by the lineage; [] while nothing answers."""
        try:
            path = f"/segments/{TABLE}"
            listed = self.client.call(
                "GET", path, params={"type": "OFFLINE", "excludeReplacedSegments": "true"}
            ).json()[0]["OFFLINE"]
            answer = self.answers.now()
        except (AssertionError, requests.RequestException):
            return []
        return [s for s in states if set(s) == set(listed) and answer == dict.fromkeys(s.values(), ROWS)]

    # Steps

    def push(self) -> None:
        old = self.random.sample(sorted(self.seen), self.random.randint(1, len(self.seen)))
        new = {f"s{self.number()}": f"{self.seen[s].split('@')[0]}@{self.number()}" for s in old}
        goal, entry = {**{s: c for s, c in self.seen.items() if s not in old}, **new}, ""

        def act() -> None:
            nonlocal entry
            entry = self.client.start(TABLE, old, list(new), force=True)
            for segment, content in new.items():
                self.client.upload(TABLE, segment, rows=ROWS, value=content)
            self.client.end(TABLE, entry)

        replaced = {s: self.seen[s] for s in old}
        if self.change("push", goal, act) and entry:
            self.entries[entry] = (replaced, new)

    def refresh(self) -> None:
        name = self.random.choice(sorted(self.seen))
        content = f"{self.seen[name].split('@')[0]}@{self.number()}"
        self.entries.clear()  # what they show now has other content
        self.answers.allowed = [self.seen, {**self.seen, name: content}]
        self.change(
            "refresh", {**self.seen, name: content}, lambda: self.client.upload(TABLE, name, rows=ROWS, value=content)
        )

    def roll_back(self) -> None:
        """To before any push, with all that were built on it."""
        if not self.entries:
            return
        target, before = self.random.choice(list(self.entries)), self.seen
        steps: list[str] = []
        for entry, (old, _) in self.entries.items():
            if entry == target or any(set(old) & set(self.entries[s][1]) for s in steps):
                steps.append(entry)
        goal = dict(before)
        for old, new in (self.entries[s] for s in reversed(steps)):
            if not set(new) <= set(goal):
                return  # some were deleted since
            goal = {**{s: c for s, c in goal.items() if s not in new}, **old}
        ask, headers = f"/api/v1/lineage/{TABLE}/rollback", {"X-Reason": "chaos"}
        if self.change(
            "roll back", goal, lambda: self.client.call("POST", ask, params={"to": target}, headers=headers)
        ):
            self.entries = {e: sides for e, sides in self.entries.items() if e not in steps}
            self.rolled_back = (target, before, goal)

    def undo(self) -> None:
        if self.rolled_back is None or self.rolled_back[2] != self.seen:
            return
        target, goal, _ = self.rolled_back
        headers = {"X-Reason": "chaos"}
        if self.change(
            "undo", goal, lambda: self.client.call("POST", f"/api/v1/lineage/{TABLE}/{target}/undo", headers=headers)
        ):
            self.rolled_back = None
            self.entries.clear()

    def delete_and_restore(self) -> None:
        if len(self.seen) < 2:
            return
        name, before = self.random.choice(sorted(self.seen)), self.seen
        goal = {s: c for s, c in before.items() if s != name}
        ask = lambda: self.client.call("DELETE", f"/segments/{TABLE}/{name}", params={"type": "OFFLINE"})  # noqa: E731
        if not self.change("delete", goal, ask) or self.random.random() < 0.2:
            return

        def act() -> None:
            body = {"segments": [name]}
            (outcome,) = self.client.call("POST", f"/api/v1/segments/{TABLE}/restore", json=body).json()["segments"]
            assert outcome["outcome"] == "done", outcome
            poll(lambda: self.answers.now() == dict.fromkeys(before.values(), ROWS), 30, "it is loaded")

        self.change("restore", before, act)
