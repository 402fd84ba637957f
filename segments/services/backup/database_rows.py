"""The database's rows in a backup: as Django's serializers write and read them, so that they move between SQLite and
PostgreSQL.

Mirrors of ZooKeeper that the mirror fills again are left out, and so are sessions: everybody signs in again. Passwords
and tokens are in it as the database has them, as hashes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

from django.apps import apps
from django.core import serializers
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.core.management.color import no_style
from django.core.serializers.base import DeserializationError
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DatabaseError, connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import CharField, Model
from django_celery_beat.models import PeriodicTasks

from segments.errors import InvalidInput
from segments.models import AuditEvent, Cluster
from segments.services.access.people_audit import acting_as

#: Apps whose rows are kept, and the models among them that are not.
_APPS: Final = ("auth", "django_celery_beat", "segments", "admin")
_LEFT_OUT: Final = frozenset(
    [
        *("auth.permission", "django_celery_beat.periodictasks"),
        *("segments.segment", "segments.consumingsegment", "segments.lineageentry", "segments.lagsample"),
    ]
)
#: What setting up a database leaves in it, which is no sign that anybody uses it.
_MADE_BY_SETUP: Final = frozenset(["segments.cluster", "segments.auditevent"])
_FIRST_EVENT: Final = "addUser"
_TOGETHER: Final = 500
#: What reading a row of another program's version, or of nobody's, raises.
_MISFITS: Final = (
    *(DatabaseError, DeserializationError, FieldDoesNotExist, ValidationError),
    *(ValueError, TypeError, KeyError),
)
_SNAPSHOT: Final = {"postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "sqlite": "BEGIN"}


def kept_models() -> list[type[Model]]:
    """Those whose rows a backup holds; what others refer to comes first."""
    wanted = [(apps.get_app_config(app), None) for app in _APPS]
    ordered = serializers.sort_dependencies(wanted, allow_cycles=True)
    return [model for model in ordered if model._meta.label_lower not in _LEFT_OUT and model._meta.managed]


@contextmanager
def one_moment() -> Iterator[None]:
    """All that is read inside is the database of one moment; nobody else waits for it."""
    if connection.in_atomic_block:
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute(_SNAPSHOT[connection.vendor])
        try:
            yield
        finally:
            cursor.execute("COMMIT")


def dumped() -> Iterator[bytes]:
    """Each row as a line of a backup."""
    for model in kept_models():
        rows, last = model._default_manager.order_by("pk"), None
        while found := list((rows if last is None else rows.filter(pk__gt=last))[:_TOGETHER]):
            yield from row_lines(found)
            last = found[-1].pk


def row_lines(rows: Iterable[Model]) -> Iterator[bytes]:
    """A line of a backup for each row."""
    text = serializers.serialize("jsonl", rows, use_natural_foreign_keys=True, cls=_ToTheMicrosecond)
    yield from (b'{"row":' + line.encode() + b"}" for line in text.split("\n") if line)


class _ToTheMicrosecond(DjangoJSONEncoder):
    """Django's own cuts times to milliseconds."""

    def default(self, o: Any) -> Any:
        return o.isoformat() if isinstance(o, datetime) else super().default(o)


def is_used() -> bool:
    """Does the database hold anything that people or passes left in it?"""
    used = [m for m in kept_models() if m._meta.app_label == "segments" and m._meta.label_lower not in _MADE_BY_SETUP]
    other_events = AuditEvent.objects.exclude(action=_FIRST_EVENT)
    return other_events.exists() or any(model._default_manager.exists() for model in used)


def load(lines: Iterable[dict[str, Any]], cluster: tuple[str, str]) -> None:
    """Put the rows in the place of all that is there, in one transaction. ``cluster`` is (its name then, its
    name now). InvalidInput for a row that does not fit this program's models.
    """
    models = kept_models()
    allowed = {model._meta.label_lower for model in models}
    try:
        with transaction.atomic(), acting_as(lambda: None):  # what was is restored, nobody changes anything
            empty()
            for deserialized in _deserialized(lines, allowed):
                _rename(deserialized.object, *cluster)
                deserialized.save(force_insert=True)
            connection.check_constraints([model._meta.db_table for model in models])
            _continue_numbers(models)
            PeriodicTasks.update_changed()  # beat reads its schedules again
    except _MISFITS as error:
        raise InvalidInput(
            f"A row of the backup does not fit the database: {str(error).strip()[:300]}",
            remedy="Restore it with the version of pinotadmin that made it, then upgrade.",
        ) from error


def empty() -> None:
    """Remove every row that a restore brings, the mirrors of ZooKeeper and all sessions. Inside a transaction, at whose
    end references are checked.
    """
    ours = [m for app in (*_APPS, "sessions") for m in apps.get_app_config(app).get_models(include_auto_created=True)]
    with connection.cursor() as cursor:
        for model in ours:
            if model._meta.managed and model._meta.label_lower != "auth.permission":
                cursor.execute(f"DELETE FROM {connection.ops.quote_name(model._meta.db_table)}")  # noqa: S608 - its name


def _deserialized(lines: Iterable[dict[str, Any]], allowed: set[str]) -> Iterator[Any]:
    def rows() -> Iterator[Any]:
        for line in lines:
            row = line["row"]
            if not isinstance(row, dict) or row.get("model") not in allowed:
                raise InvalidInput("A row of the backup belongs to no table of this program.")
            yield row

    return iter(serializers.deserialize("python", rows()))


def _rename(row: Model, before: str, after: str) -> None:
    """The cluster's name, where a row names it."""
    if before == after:
        return
    for field in row._meta.concrete_fields:
        is_name = field.name == "cluster" or (isinstance(row, Cluster) and field.name == "name")
        if is_name and isinstance(field, CharField) and getattr(row, field.attname) == before:
            setattr(row, field.attname, after)


def _continue_numbers(models: list[type[Model]]) -> None:
    """PostgreSQL counts keys itself and does not notice those that came with their rows."""
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)


def applied_migrations() -> dict[str, str]:
    """{app: the last migration that this database has had} of the apps whose rows are kept."""
    rows = MigrationRecorder(connection).applied_migrations()
    return {app: max((name for known, name in rows if known == app), default="") for app in _APPS}
