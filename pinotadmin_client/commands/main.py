"""``pinotadmin COMMAND``: load, tables, history, go-back, snapshots, rollback, undo, pause, resume, drain, undrain,
query, audit of an installation.

Exit status: 0 done, 1 refused or blocked, 2 wrong arguments or credentials, 3 no answer, 4 not confirmed. With --json
standard output is one JSON document, also of what went wrong; only wrong arguments print none.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import httpx

from pinotadmin_client.client import DEFAULT_TIMEOUT_S, Client
from pinotadmin_client.commands import changing, draining, loading, reading
from pinotadmin_client.commands.output import write_json
from pinotadmin_client.credentials import NoCredentials, find
from pinotadmin_client.errors import ApiError, ClientError, NoAnswer

_READS = {
    "tables": reading.tables,
    "history": reading.history,
    "snapshots": reading.snapshots,
    "query": reading.query,
    "audit": reading.audit,
}
_CHANGES = {
    "rollback": changing.rollback,
    "undo": changing.undo,
    "go-back": changing.go_back,
    "pause": changing.pause,
    "resume": changing.resume,
}
_OF_SERVERS = {"drain": draining.drain, "undrain": draining.undrain}
_COMMANDS = {**_READS, **_CHANGES, **_OF_SERVERS, "load": loading.load}
#: What `pinotadmin` takes first.
COMMAND_NAMES = frozenset(_COMMANDS)


def run(
    arguments: Sequence[str] | None = None,
    program: str = "pinotadmin",
    *,
    credentials_file: str = "",
    hint: str = "",
    http: httpx.Client | None = None,
) -> int:
    """Do what the arguments say; returns the exit status. ``credentials_file`` is taken where none is named; without
    one, ``hint`` is said to whoever names no installation.
    """
    given = _parser(program).parse_args(arguments)
    try:
        found = find(given.url, given.token_file, given.credentials or credentials_file, hint=hint)
        with Client(found.url, credentials=found, cluster=given.cluster, timeout_s=given.timeout, http=http) as client:
            _COMMANDS[given.command](client, given)
    except (ClientError, ValueError) as error:
        return _report(error, is_json=given.json)
    return 0


def _report(error: ClientError | ValueError, *, is_json: bool) -> int:
    if is_json and not (isinstance(error, ClientError) and error.is_shown):
        status, remedy = (error.status, error.remedy) if isinstance(error, ApiError) else (None, "")
        text = error.message if isinstance(error, ApiError) else str(error)
        write_json({"error": text, "status": status, "remedy": remedy})
    sys.stderr.write(f"{error}\n")
    if isinstance(error, NoCredentials | ValueError):
        return 2
    if isinstance(error, NoAnswer):
        return 3
    return 4 if isinstance(error, changing.NotConfirmed) else 1


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=program, description=__doc__)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--url", default="", help="Address of the installation; else PINOTADMIN_URL")
    common.add_argument("--token-file", default="", help="File that holds an API token; else PINOTADMIN_TOKEN")
    common.add_argument("--credentials", default="", help="JSON with url and token; else PINOTADMIN_CREDENTIALS")
    common.add_argument("--cluster", default="", help="A Pinot cluster that the installation drives")
    common.add_argument("--timeout", type=float, default=DEFAULT_TIMEOUT_S, help="Seconds for each call")
    common.add_argument("--json", action="store_true", help="Print JSON")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, function in _COMMANDS.items():
        made = commands.add_parser(name, parents=[common], help=(function.__doc__ or "").partition("\n")[0])
        _arguments_of(name, made)
    return parser


def _arguments_of(name: str, made: argparse.ArgumentParser) -> None:
    if name in ("history", "snapshots", *_CHANGES):
        made.add_argument("table")
    if name in _OF_SERVERS:
        made.add_argument("instance", help="A server, as GET /instances lists it")
    if name == "drain":
        made.add_argument("--read-again", action="store_true", help="Other servers read again what it consumes")
        made.add_argument("--wait", type=float, default=3600.0, help="Seconds to follow it; 0: not at all")
    if name in ("rollback", "undo"):
        made.add_argument("entry", help="Id of a lineage entry, as 'snapshots' lists it")
    if name == "go-back":
        made.add_argument("number", type=int, help="Number of a snapshot, as 'history' lists it")
    if name == "history":
        made.add_argument("--limit", type=int, default=50)
        made.add_argument("--before", type=int, help="Only older ones than this number")
    if name in ("history", "go-back", "snapshots", "rollback", "undo"):
        made.add_argument("--type", default="OFFLINE", choices=["OFFLINE", "REALTIME"])
    if name == "query":
        made.add_argument("sql")
    if name == "audit":
        made.add_argument("--limit", type=int, default=50)
        for each in ("target", "actor", "action"):
            made.add_argument(f"--{each}")
    if name == "load":
        made.add_argument("file", help="CSV, JSON, Parquet, ORC or Avro, also compressed")
        made.add_argument("--table", default="", help="Its name; else the file's")
        kind = made.add_mutually_exclusive_group()
        kind.add_argument("--refresh", action="store_true", help="Each push replaces all rows (as without an option)")
        kind.add_argument("--append", action="store_true", help="Each push adds rows")
        made.add_argument("--wait", type=float, default=3600.0, help="Seconds to wait for the rows")
    if name in (*_CHANGES, *_OF_SERVERS, "load"):
        made.add_argument("--dry-run", action="store_true", help="Show what it would do, and stop")
        made.add_argument("--yes", action="store_true", help="Do not ask")
        made.add_argument("--reason", required=name != "load", help="Why; goes into the audit record")


if __name__ == "__main__":
    sys.exit(run())
