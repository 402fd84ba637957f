"""``load FILE``: a file of one's own becomes a table, or is described as one; the push is followed to its end."""

from __future__ import annotations

import re
import sys
import unicodedata
from argparse import Namespace
from pathlib import Path
from typing import Any

from pinotadmin_client.client import ENDED, Client
from pinotadmin_client.commands.changing import Blocked, NotConfirmed, said_yes
from pinotadmin_client.commands.output import write, write_json, write_table

_ENDINGS = ("gz", "gzip", "zst", "bz2", "csv", "tsv", "txt", "json", "jsonl", "ndjson", "parquet", "orc", "avro")
_LONGEST = 100


def load(client: Client, given: Namespace) -> None:
    """Make a table of a file: CSV, JSON, Parquet, ORC or Avro, also compressed."""
    file = Path(given.file)
    if not file.is_file():
        raise ValueError(f"There is no file '{given.file}'.")
    _progress(given, f"Sending {file.name} ({file.stat().st_size:,} bytes)")
    sent = client.upload(file, table=given.table or _name_of(file))
    asked = {"upload": sent["upload"], "tableName": given.table or _name_of(file)}
    found = client.call("POST", "/api/v1/tables/infer", body=asked)
    name = found["tableName"]
    if given.append:
        found["tableConfig"]["ingestionConfig"]["batchIngestionConfig"] = {
            "segmentIngestionType": "APPEND",
            "segmentIngestionFrequency": "DAILY",
        }
    _show(given, found)
    if given.dry_run:
        return
    if not given.yes and not said_yes(f"Create table {name} and load the file?"):
        raise NotConfirmed("Nothing was created. Answer y, or give --yes.")
    body = {key: found[key] for key in ("tableName", "schema", "tableConfig", "job")} | {"reason": given.reason}
    push = client.call("POST", "/api/v1/tables/load", body=body)
    _progress(given, f"Table {name} is created; push {push['id']} loads it")
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
