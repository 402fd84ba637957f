"""The history of schemas and table configs: every version, with who made it and why where that is known."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from segments.domain.formats.storable_text import without_nul
from segments.domain.tables.edits.differences import Difference, differences
from segments.domain.tables.edits.document_version import version_of
from segments.domain.tables.secret_masks import mask
from segments.errors import NotFound
from segments.models import ConfigVersion
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.tables.stored_documents import config_body, schema_body
from segments.store import paths

Document = Literal["config", "schema"]

#: Versions of one document that are kept; the oldest go.
KEPT: Final = 500
#: So long after a version that somebody made here, the mirror may still see what was before it.
_CATCHING_UP: Final = timedelta(seconds=10)
_TRIES: Final = 5
_NOBODY: Final = Actor("")


def history_of(ctx: Context, table: TableName) -> QuerySet[ConfigVersion]:
    """The versions of a table's config and schema, newest first, without the documents."""
    own = Q(document="config", name=table.typed) | Q(document="schema", name=table.raw)
    return ConfigVersion.objects.filter(own, cluster=ctx.cluster).defer("body")


def version_row(ctx: Context, table: TableName, key: int) -> ConfigVersion:
    """One of them, by its id. NotFound."""
    found = history_of(ctx, table).filter(pk=key).first() if 0 < key < 2**63 else None
    if found is None:
        raise NotFound(
            f"Table '{table}' has no version {key} of its config or schema.",
            remedy=f"List them with GET /api/v1/tables/{table}/config/history.",
        )
    return found


def body_of(row: ConfigVersion) -> dict[str, Any] | None:
    """The document, its secrets masked; None: it was deleted."""
    found: dict[str, Any] | None = _unpacked(row.body)
    return found


def changes_of(row: ConfigVersion) -> list[Difference]:
    """What differs from the version before; nothing of a first one."""
    return [Difference(row.document, *listed) for listed in _unpacked(row.changes) or ()]


def newest_versions(cluster: str) -> dict[tuple[str, str], str]:
    """{(document, name): the version that is the newest}, "" of what was deleted."""
    rows = newest_rows(cluster).values_list("document", "name", "version")
    return {(document, name): version for document, name, version in rows}


def newest_rows(cluster: str) -> QuerySet[ConfigVersion]:
    """The newest version of each document, newest first, without the documents."""
    of_document = {key: OuterRef(key) for key in ("cluster", "document", "name")}
    newer = ConfigVersion.objects.filter(**of_document, number__gt=OuterRef("number"))
    return ConfigVersion.objects.filter(~Exists(newer), cluster=cluster).defer("body")


def note(ctx: Context, document: Document, name: str, body: Any, actor: Actor, *, is_new: bool = False) -> None:
    """Keep the version that ``actor`` just made; None: the document is deleted. ``is_new``: it was created, so it is a
    version of its own even if it is like the one before.
    """
    for _ in range(_TRIES):
        newest = _newest(ctx.cluster, document, name)
        if newest is not None and newest.version == _version(body) and not (is_new and newest.actor):
            if not newest.actor:  # the mirror was faster
                ConfigVersion.objects.filter(pk=newest.pk).update(**_of(actor))
            return
        if _keep(ctx.cluster, document, name, newest, body, actor):
            return


def note_config(ctx: Context, table: TableName, actor: Actor, *, is_new: bool = False) -> None:
    """Keep a table's config as it is stored now, which on a Pinot is not quite what was sent to it."""
    node = ctx.store.get(paths.table_config(table.typed))
    if node is not None and node.record is not None:
        note(ctx, "config", table.typed, config_body(node.record), actor, is_new=is_new)


def note_schema(ctx: Context, name: str, actor: Actor, *, is_new: bool = False) -> None:
    """The same of a schema."""
    node = ctx.store.get(paths.schema(name))
    if node is not None and node.record is not None:
        note(ctx, "schema", name, schema_body(node.record), actor, is_new=is_new)


def note_seen(cluster: str, document: Document, name: str, body: Any, now: datetime | None = None) -> bool:
    """Keep a version that the mirror sees, if it is none that is known. False: whether it is one cannot be said yet,
    since somebody changed the document here a moment ago.
    """
    newest = _newest(cluster, document, name)
    if (newest is None and body is None) or (newest is not None and newest.version == _version(body)):
        return True
    if newest is not None and newest.actor and (now or timezone.now()) - newest.at < _CATCHING_UP:
        return False
    return _keep(cluster, document, name, newest, body, _NOBODY)


def _keep(cluster: str, document: Document, name: str, newest: ConfigVersion | None, body: Any, actor: Actor) -> bool:
    """Write it behind ``newest``; False when somebody else did so."""
    shown, number = mask(body), newest.number + 1 if newest else 1
    before = body_of(newest) if newest else None
    found = differences(document, before, shown) if before is not None and shown is not None else []
    try:
        with transaction.atomic():
            ConfigVersion.objects.create(
                cluster=cluster, document=document, name=name, number=number, at=timezone.now(),
                version=_version(body), body=_packed(shown), changes=_packed(_lists(found)), **_of(actor),
            )  # fmt: skip
    except IntegrityError:
        return False
    own = ConfigVersion.objects.filter(cluster=cluster, document=document, name=name)
    own.filter(number__lte=number - KEPT).delete()
    return True


def _newest(cluster: str, document: Document, name: str) -> ConfigVersion | None:
    return ConfigVersion.objects.filter(cluster=cluster, document=document, name=name).order_by("-number").first()


def _version(body: Any) -> str:
    return "" if body is None else version_of(body)


def _of(actor: Actor) -> Mapping[str, str]:
    reason = without_nul(actor.reason)[:10_000]
    return {"actor": actor.name[:150], "reason": reason}


def _lists(found: Sequence[Difference]) -> list[list[str | None]]:
    return [[d.path, d.before, d.after] for d in found]


def _packed(value: Any) -> bytes:
    return b"" if value is None else zlib.compress(json.dumps(value, separators=(",", ":"), default=str).encode())


def _unpacked(packed: Any) -> Any:
    return json.loads(zlib.decompress(bytes(packed))) if packed else None
