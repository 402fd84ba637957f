"""``drain`` and ``undrain``: everything on a server moves to others, followed to its end; and the way back."""

from __future__ import annotations

from argparse import Namespace
from time import monotonic, sleep
from typing import Any, Final

from pinotadmin_client.client import Client
from pinotadmin_client.commands.changing import Blocked, goes_on
from pinotadmin_client.commands.output import write, write_json
from pinotadmin_client.errors import ClientError

_EVERY_S: Final = 1.0


class NotDrained(ClientError):
    """It is not over; the installation goes on with it."""


def drain(client: Client, given: Namespace) -> None:
    """Move everything on a server to others."""
    found = client.installation.drain_state(given.instance)
    if found.refusals:
        raise Blocked(" ".join(str(why) for why in found.refusals.values()))
    tables = ", ".join(sorted(found.tables)) or "no table"
    if not goes_on(given, found, f"Drains {given.instance}: {found.segments_left} segments of {tables} move."):
        return
    commits = False if given.read_again else None
    done = client.installation.drain(given.instance, force_commit=commits, reason=given.reason)
    if given.wait:
        done = _followed(client, given)
    if given.json:
        write_json(done)
    elif done.state == "DRAINED":
        write(f"{given.instance} is drained: nothing is left on it.")
    else:
        write(f"{given.instance} is being drained; 'pinotadmin drain' again says how far it is.")


def undrain(client: Client, given: Namespace) -> None:
    """End the drain of a server: it gets its tags back."""
    found = client.installation.drain_state(given.instance)
    if goes_on(given, found, f"Gives {given.instance} its tags back: {', '.join(found.tags) or 'none'}."):
        done = client.installation.undrain(given.instance, reason=given.reason)
        if given.json:
            write_json(done)
        else:
            write(f"{given.instance} has its tags back; a rebalance of its tables brings segments back to it.")


def _followed(client: Client, given: Namespace) -> Any:
    """The state at the end. Says each step forward, and what is in the way; raises NotDrained after ``--wait``."""
    until, last = monotonic() + given.wait, ""
    while True:
        found = client.installation.drain_state(given.instance)
        if found.state == "DRAINED":
            return found
        problems = "; ".join(f"{table}: {why}" for table, why in sorted(found.problems.items()))
        line = f"  {found.percent} %, {found.segments_left} segments to go" + (f". {problems}" if problems else "")
        if line != last and not given.json:
            write(line)
        last = line
        if monotonic() > until:
            raise NotDrained(f"{given.instance} is not drained yet; the installation goes on with it.{line}")
        sleep(_EVERY_S)
