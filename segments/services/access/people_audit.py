"""Changes of users, groups, permissions, grants and passwords on the audit record, wherever they are made: admin,
commands, scripts.

Who did it is the person whose request is being answered, else the system's user who runs the command. What was before
and what is after stands in the record; of a password only that it was changed.
"""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final

from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.db.models.signals import m2m_changed, post_save, pre_delete, pre_save

from segments.models import Grant, SignOnIdentity
from segments.services.core import audit
from segments.services.core.context import Actor

_FIELDS: Final[dict[type[Model], tuple[str, ...]]] = {
    User: ("username", "first_name", "last_name", "email", "is_active", "is_staff", "is_superuser"),
    Group: ("name",),
    Grant: ("user_id", "group_id", "cluster", "tables", "right"),
    SignOnIdentity: ("user_id", "issuer", "subject"),
}
_BEFORE: Final = "_audited_before"
_GONE: Final = "_audited_links"
_asking: ContextVar[Callable[[], Actor | None] | None] = ContextVar("asking", default=None)


@contextmanager
def acting_as(actor: Callable[[], Actor | None]) -> Iterator[None]:
    """Meanwhile changes are this person's; ``actor`` is called only when there is one. None: they are not recorded."""
    token = _asking.set(actor)
    try:
        yield
    finally:
        _asking.reset(token)


def outside() -> Actor | None:
    """Who makes changes outside of requests: the system's user, with the command that runs."""
    program, command = Path(sys.argv[0]), " ".join(sys.argv[1:2])
    if program.name in ("manage.py", "django-admin"):
        return Actor(getpass.getuser(), f"manage.py {command}")
    is_ours = program.name == "pinotadmin" or program.parts[-2:] == ("pinotadmin", "__main__.py")
    return Actor(getpass.getuser(), f"pinotadmin {command}" if is_ours else "")


def connect() -> None:
    """Listen from now on; once per process."""
    for model in _FIELDS:
        pre_save.connect(_remember, sender=model, dispatch_uid=f"people_audit.before.{model.__name__}")
        post_save.connect(_saved, sender=model, dispatch_uid=f"people_audit.saved.{model.__name__}")
        pre_delete.connect(_deleted, sender=model, dispatch_uid=f"people_audit.deleted.{model.__name__}")
    for through in (User.groups.through, User.user_permissions.through, Group.permissions.through):
        m2m_changed.connect(_linked, sender=through, dispatch_uid=f"people_audit.linked.{through.__name__}")


def _remember(sender: type[Model], instance: Any, raw: bool = False, update_fields: Any = None, **_: Any) -> None:
    """What is stored now, before it is replaced; nothing for a login, which only notes its time."""
    is_login = update_fields is not None and set(update_fields) == {"last_login"}
    before = None if raw or is_login or instance.pk is None else sender._default_manager.filter(pk=instance.pk).first()
    setattr(instance, _BEFORE, "login" if is_login else before)


def _saved(sender: type[Model], instance: Any, created: bool, raw: bool = False, **_: Any) -> None:
    before = instance.__dict__.pop(_BEFORE, None)
    if raw or before == "login":
        return
    old, new = ({} if before is None else _values(before)), _values(instance)
    changed = [name for name in new if old.get(name) != new[name]]
    if created or changed:
        detail = {"after": {name: new[name] for name in changed}}
        _record(
            instance,
            "add" if created else "change",
            **({} if created else {"before": {n: old[n] for n in changed}}),
            **detail,
        )
    if sender is User and before is not None and _is_other_password(before, instance):
        _record(instance, "changePassword")


def _deleted(sender: type[Model], instance: Any, **_: Any) -> None:
    _record(instance, "remove", before=_values(instance))


def _linked(
    sender: type[Model], instance: Any, action: str, reverse: bool, model: type[Model], pk_set: Any, **_: Any
) -> None:
    """A user joins or leaves a group; a permission is given or taken."""
    what = "groups" if sender is User.groups.through else "permissions"
    if action == "pre_clear" and not reverse:
        relation = (
            instance.user_permissions
            if what == "permissions" and isinstance(instance, User)
            else getattr(instance, what)
        )
        setattr(instance, _GONE, sorted(map(str, relation.all())))
    verb = {"post_add": "added", "post_remove": "removed", "post_clear": "removed"}.get(action)
    if verb is None:
        return
    others = list(model._default_manager.filter(pk__in=pk_set or ()))
    if reverse:  # seen from the group, or from the permission: each user (or group) at the other end is what changes
        for other in others:
            _record(other, "change", **{what: {verb: [str(instance)]}})
        return
    names = sorted(map(str, others)) or instance.__dict__.pop(_GONE, [])
    if names:
        _record(instance, "change", **{what: {verb: names}})


def _values(instance: Any) -> dict[str, Any]:
    found = {name: getattr(instance, name) for name in _FIELDS[type(instance)]}
    if isinstance(instance, Grant):
        found = {
            "for": str(instance.user or instance.group),
            **{k: v for k, v in found.items() if not k.endswith("_id")},
        }
    return found


def _is_other_password(before: User, after: User) -> bool:
    """A stronger hash of the same password, which a login makes, is none."""
    if before.password == after.password:
        return False
    return (
        getattr(after, "_password", None) is not None or before.password.split("$")[:2] == after.password.split("$")[:2]
    )


def _record(instance: Any, verb: str, **detail: Any) -> None:
    asking = _asking.get()
    actor = asking() if asking is not None else outside()
    if actor is None:
        return
    if isinstance(instance, Grant):
        cluster = "" if instance.cluster == "*" else instance.cluster
        audit.record(actor, f"{verb}Grant", cluster=cluster, target=instance.tables, grant=str(instance), **detail)
        return
    kind = type(instance).__name__
    audit.record(
        actor,
        verb if verb == "changePassword" else f"{verb}{kind}",
        target=f"{kind.lower()} {instance}"[:600],
        **detail,
    )
