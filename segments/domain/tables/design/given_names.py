"""Names for tables and columns from names that files have: such that queries need no quotes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ODD: Final = re.compile(r"[^A-Za-z0-9_]+")
_ENDINGS: Final = ("gz", "gzip", "zst", "bz2", "csv", "tsv", "txt", "json", "jsonl", "ndjson", "parquet", "orc", "avro")
_LONGEST: Final = 100
#: Words of SQL that no parser takes for a name without quotes.
RESERVED: Final = frozenset(
    [
        "all",
        "and",
        "any",
        "array",
        "as",
        "asc",
        "between",
        "both",
        "by",
        "case",
        "cast",
        "check",
        "column",
        "constraint",
        "create",
        "cross",
        "default",
        "desc",
        "distinct",
        "else",
        "end",
        "except",
        "exists",
        "false",
        "for",
        "foreign",
        "from",
        "full",
        "group",
        "having",
        "in",
        "inner",
        "intersect",
        "into",
        "is",
        "join",
        "lateral",
        "leading",
        "left",
        "like",
        "limit",
        "natural",
        "not",
        "null",
        "offset",
        "on",
        "or",
        "order",
        "outer",
        "primary",
        "references",
        "returning",
        "right",
        "select",
        "some",
        "table",
        "then",
        "to",
        "trailing",
        "true",
        "union",
        "unique",
        "using",
        "values",
        "when",
        "where",
        "window",
        "with",
    ]
)


def is_plain(name: str) -> bool:
    """Can a query name the column without quotes?"""
    return bool(_PLAIN.match(name)) and name.lower() not in RESERVED


def plain_names(given: Sequence[str]) -> list[str]:
    """One plain name for each, all of them different; plain ones stay, unless they are there twice."""
    taken: set[str] = set()
    copies: dict[str, int] = {}
    found = []
    for number, name in enumerate(given, 1):
        wanted = _plain(name) or f"column_{number}"
        unique, copy = wanted, copies.get(wanted.lower(), 1)
        while unique.lower() in taken:
            copy += 1
            unique = f"{wanted}_{copy}"
        copies[wanted.lower()] = copy
        taken.add(unique.lower())
        found.append(unique)
    return found


def table_name_of(file_name: str) -> str:
    """``My Flights (2).csv.gz`` -> ``my_flights_2``, ``2013.csv`` -> ``t_2013``; "" when nothing of the name is fit for
    one.
    """
    stem = file_name.rstrip("/").rpartition("/")[2]
    while (parts := stem.rpartition("."))[2].lower() in _ENDINGS and parts[0]:
        stem = parts[0]
    name = _words(stem)[:_LONGEST].strip("_").lower()
    return f"t_{name}" if name and not is_plain(name) else name


def _plain(name: str) -> str:
    if is_plain(name):
        return name
    words = _words(name)[:_LONGEST].strip("_")
    if not words:
        return ""
    if words[0].isdigit():
        words = f"_{words}"
    return f"{words}_" if words.lower() in RESERVED else words


def _words(text: str) -> str:
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _ODD.sub("_", ascii_text).strip("_")
