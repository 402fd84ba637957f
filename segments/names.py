"""Parse and format the names that Pinot gives to tables, segments and instances."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import quote

from segments.errors import Forbidden, InvalidInput

TableType = Literal["OFFLINE", "REALTIME"]
OFFLINE: Final = "OFFLINE"
REALTIME: Final = "REALTIME"
TABLE_TYPES: Final[tuple[TableType, ...]] = (OFFLINE, REALTIME)

#: The last range: halves of characters, which JSON can spell and nothing can store.
_FORBIDDEN_IN_SEGMENT = re.compile('[\\\\/:*?"<>|,\x00-\x1f\ud800-\udfff]')
_CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
#: Bytes of a name as that of a file, which takes 255 in all; what is added while it is written or after it was deleted
#: has room then.
_LONGEST: Final = 180
_LONGEST_COLUMN: Final = 512
_LONGEST_NODE: Final = 1024
#: What ZooKeeper takes in no path: control characters, halves of characters, private ones, specials.
_NOT_IN_ZOOKEEPER = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\ud800-\\uf8ff\\ufff0-\\uffff]")
_TABLE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*\Z")


@dataclass(frozen=True, order=True)
class TableName:
    """A table's raw name and type; ``typed`` is Pinot's ``tableNameWithType``."""

    raw: str
    type: TableType

    @property
    def typed(self) -> str:
        return f"{self.raw}_{self.type}"

    def __str__(self) -> str:
        return self.typed


def parse_table_type(text: str | None) -> TableType | None:
    """``offline``/``REALTIME`` in any case -> the type, empty or None -> None. Raises InvalidInput for other text."""
    if text is None or not text.strip():
        return None
    upper = text.strip().upper()
    for known in TABLE_TYPES:
        if upper == known:
            return known
    raise InvalidInput(f"Table type '{text}' does not exist.", remedy="Use OFFLINE or REALTIME.")


def split_table_name(name: str) -> tuple[str, TableType | None]:
    """``sales_OFFLINE`` -> ("sales", "OFFLINE"); ``sales`` -> ("sales", None)."""
    for known in TABLE_TYPES:
        suffix = "_" + known
        if name.endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)], known
    return name, None


def resolve_table(name: str, type_text: str | None) -> TableName:
    """Join a raw or typed name with the ``type`` parameter, as Pinot's segment endpoints do.

    Raises InvalidInput (400) when no type is known, Forbidden (403) when suffix and parameter disagree.
    """
    wanted = parse_table_type(type_text)
    raw, found = split_table_name(name)
    if found is None and wanted is None:
        raise InvalidInput(f"Table type is missing for table '{name}'.", remedy="Add type=OFFLINE or type=REALTIME.")
    if found is not None and wanted is not None and found != wanted:
        raise Forbidden(f"Table name '{name}' does not match table type {wanted}.", remedy="Use the matching type.")
    table_type = found or wanted
    assert table_type is not None
    return TableName(raw, table_type)


def typed_names(name: str) -> tuple[str, ...]:
    """``sales_OFFLINE`` -> itself; ``sales`` -> the names of its OFFLINE and REALTIME tables, whether they exist or
    not.
    """
    raw, kind = split_table_name(name)
    return (name,) if kind is not None else tuple(f"{raw}_{kind}" for kind in TABLE_TYPES)


def check_raw_table_name(raw: str) -> str:
    """Return the name, or raise InvalidInput when it cannot be a table's name."""
    if not raw or not _TABLE.match(raw) or raw.count(".") > 1 or len(raw) > _LONGEST:
        remedy = f"Use letters, digits, '_', '-' and at most one '.', {_LONGEST} characters in all."
        raise InvalidInput(f"'{raw[:_LONGEST]}' cannot be a table name.", remedy=remedy)
    return raw


def check_segment_name(name: str) -> str:
    """Return the name, or raise InvalidInput: commas corrupt lineage (rule `no-mutual-hiding`), slashes leave folders,
    long ones are not files.
    """
    if not name or _FORBIDDEN_IN_SEGMENT.search(name) or name in (".", "..") or name != name.strip():
        raise InvalidInput(
            f"Segment name {name[:_LONGEST]!r} is not allowed.",
            remedy=r'Segment names are not empty and hold none of \ / : * ? " < > | , nor control characters.',
        )
    if len(quote(name, safe="")) > _LONGEST:
        raise InvalidInput(
            f"Segment name '{name[:_LONGEST]}' is too long.", remedy=f"Use at most {_LONGEST} characters, URL-encoded."
        )
    return check_node_name(name, "segment")


def check_node_name(name: str, what: str = "name") -> str:
    """Return the name, or raise InvalidInput: the one rule for every name of a table, segment, instance, job ... that
    is sent to us.

    ZooKeeper, which all of them end up in, takes no other ones. ``what`` says in refusals which one it is.
    """
    # Almost all names are printable ASCII, which Python sees at once.
    if (
        not name.isascii()
        or not name.isprintable()
        or "/" in name
        or name in ("", ".", "..")
        or len(name) > _LONGEST_NODE
    ):
        if not name or name in (".", "..") or "/" in name or _NOT_IN_ZOOKEEPER.search(name):
            raise InvalidInput(
                f"{shown(name)!r} cannot be a name ({what}).",
                remedy="Names are not empty, not . or .., without '/' and control characters.",
            )
        if len(name) > _LONGEST_NODE:
            raise InvalidInput(
                f"The name '{shown(name)}' ({what}) has {len(name)} characters.",
                remedy=f"Names have at most {_LONGEST_NODE}.",
            )
    return name


def check_column_name(name: str) -> str:
    """Return the name, or raise InvalidInput. What a column's name must be as that of a file, the writer of the v1
    layout says.
    """
    if _CONTROL.search(name) or len(name) > _LONGEST_COLUMN:
        raise InvalidInput(
            f"{shown(name)!r} cannot be a column name.",
            remedy=f"Use at most {_LONGEST_COLUMN} characters, none of them a control character.",
        )
    return name


def shown(name: str) -> str:
    """As much of a foreign name or value as a message shows."""
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}..."


def instance_name(kind: Literal["Server", "Broker", "Controller", "Minion"], host: str, port: int) -> str:
    """``Server_127.0.0.1_8098``: Pinot's instance ids."""
    return f"{kind}_{host}_{port}"


def http_address(host: str, port: int, *, tls: bool = False) -> str:
    """``http://127.0.0.1:9000`` or, over TLS, ``https://[::1]:9000``: the address of a part, without a slash at the
    end.
    """
    return f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"
