"""``load FILE``: a file of one's own becomes a table, goes to the one that there is, or is described; the push is
followed to its end.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from argparse import Namespace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pinotadmin_client.client import ENDED, Client
from pinotadmin_client.commands.changing import Blocked, NotConfirmed, said_yes
from pinotadmin_client.commands.output import write, write_json, write_table
from pinotadmin_client.errors import NotFound

_ENDINGS = ("gz", "gzip", "zst", "bz2", "csv", "tsv", "txt", "json", "jsonl", "ndjson", "parquet", "orc", "avro")
_LONGEST = 100
APPEND, REFRESH = "APPEND", "REFRESH"
#: What becomes of the rows of a push.
_EFFECTS = {APPEND: "come to those that are there", REFRESH: "take the place of all that are there"}


def load(client: Client, given: Namespace) -> None:
    """Make a table of a file: CSV, JSON, Parquet, ORC or Avro, also compressed. Where the table exists, push the file
    to it.
    """
    file = Path(given.file)
    if not file.is_file():
        raise ValueError(f"There is no file '{given.file}'.")
    name = given.table or _name_of(file)
    existing = _existing(client, given, name)
    _progress(given, f"Sending {file.name} ({file.stat().st_size:,} bytes)")
    sent = client.upload(file, table=name)
    found = client.call("POST", "/api/v1/tables/infer", body={"upload": sent["upload"], "tableName": name})
    name = found["tableName"]
    if given.append and not existing:
        found["tableConfig"]["ingestionConfig"]["batchIngestionConfig"] = {
            "segmentIngestionType": APPEND,
            "segmentIngestionFrequency": "DAILY",
        }
    _show(given, found)
    if given.dry_run:
        return
    push = _pushed(client, given, found, existing) if existing else _created(client, given, found)
    done = client.wait_for_push(str(push["id"]), timeout_s=given.wait)
    if given.json:
        write_json(done)
    if done.state not in ENDED - {"FAILED", "CANCELLED", "BLOCKED"}:
        why = done.error or "its page says why"
        error = Blocked(f"The push is {done.state}: {why}. The table is there: push again, or delete it.")
        error.is_shown = given.json
        raise error
    if not given.json:
        write(f"Table {name} is loaded. Its rows are there for: pinotadmin query")


def _existing(client: Client, given: Namespace, name: str) -> str:
    """How the table of this name takes pushes, APPEND or REFRESH; empty: there is none. ValueError where that is not
    what was asked for.
    """
    raw = name.removesuffix("_OFFLINE")
    try:
        config = client.call("GET", f"/tables/{quote(raw, safe='')}", query={"type": "OFFLINE"})["OFFLINE"]
    except NotFound:
        return ""
    batch = (config.get("ingestionConfig") or {}).get("batchIngestionConfig") or {}
    validation = config.get("segmentsConfig") or {}
    given_kind = str(batch.get("segmentIngestionType") or validation.get("segmentPushType") or APPEND).upper()
    kind = REFRESH if given_kind == REFRESH else APPEND
    wanted = APPEND if given.append else REFRESH if given.refresh else kind
    if wanted != kind:
        raise ValueError(
            f"Table {raw} exists, and rows of its pushes {_EFFECTS[kind]} ({kind}). Leave --{wanted.lower()} out, or "
            "change its segmentIngestionType first."
        )
    return kind


def _created(client: Client, given: Namespace, found: dict[str, Any]) -> dict[str, Any]:
    """The push that loads the table that was made of the file."""
    name = found["tableName"]
    if not given.yes and not said_yes(f"Create table {name} and load the file?"):
        raise NotConfirmed("Nothing was created. Answer y, or give --yes.")
    body = {key: found[key] for key in ("tableName", "schema", "tableConfig", "job")} | {"reason": given.reason}
    push: dict[str, Any] = client.call("POST", "/api/v1/tables/load", body=body)
    _progress(given, f"Table {name} is created; push {push['id']} loads it")
    return push


def _pushed(client: Client, given: Namespace, found: dict[str, Any], kind: str) -> dict[str, Any]:
    """The push of the file to the table that there is."""
    name = found["tableName"]
    if not given.yes and not said_yes(f"Table {name} exists. Push the file to it? Its rows {_EFFECTS[kind]}."):
        raise NotConfirmed(f"Nothing was pushed to {name}: its rows {_EFFECTS[kind]}. Answer y, or give --yes.")
    body = {"spec": found["job"], "reason": given.reason}
    push: dict[str, Any] = client.call("POST", "/api/v1/pushes", body=body)
    _progress(given, f"Table {name} exists; push {push['id']} loads the file, whose rows {_EFFECTS[kind]}")
    return push


def _show(given: Namespace, found: dict[str, Any]) -> None:
    if given.json:
        if given.dry_run:
            write_json(found)
        return
    write_table(
        ("COLUMN", "TYPE", "FORMAT", "NULLS", "EXAMPLE"),
        [(c["name"], c["dataType"] + "[]" * (not c["singleValue"]), c.get("format") or "", c["nulls"],
          next((row[c["name"]] for row in found["rows"] if row.get(c["name"]) is not None), ""))
         for c in found["columns"]],
    )  # fmt: skip
    for column in found["columns"]:
        if near := column.get("almost"):
            write(
                f"Column {column['name']}: all but {near['misfits']:,} of the values would fit {near['dataType']}; "
                f"these do not: {', '.join(near['examples'])}."
            )
    for note in found["notes"]:
        write(note)


def _progress(given: Namespace, text: str) -> None:
    """On standard error, so that what is printed can be read by programs."""
    if not given.json:
        sys.stderr.write(f"{text} ...\n")


def _name_of(file: Path) -> str:
    """The file's name without its endings, as the console names a table: such that queries need no quotes."""
    stem = file.name
    while (parts := stem.rpartition("."))[2].lower() in _ENDINGS and parts[0]:
        stem = parts[0]
    plain = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9_]+", "_", plain).strip("_").lower()[:_LONGEST]
    return f"t_{name}" if name[:1].isdigit() else name or "new_table"
