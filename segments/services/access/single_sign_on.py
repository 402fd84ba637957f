"""The user of a person who signed in with the identity provider: found by the provider's own identifier, made the first
time, with groups as the provider lists them now.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import IntegrityError, transaction

from segments.domain.access.claimed_person import ClaimedPerson, GroupRules
from segments.errors import Forbidden
from segments.models import SignOnIdentity


def user_of(person: ClaimedPerson, issuer: str, rules: GroupRules) -> Any:
    """The active user of this person, up to date. Forbidden for one who was deactivated, and for a name that a user has
    who is not linked to this person: who may choose a name at the provider becomes nobody else here.
    """
    with transaction.atomic():
        known = SignOnIdentity.objects.select_related("user").filter(issuer=issuer, subject=person.subject).first()
        user = known.user if known is not None else _made(person, issuer)
        if not user.is_active:
            raise Forbidden(f"User '{user.get_username()}' is deactivated.", remedy="Ask an administrator.")
        _update(user, person, rules)
    return user


def _made(person: ClaimedPerson, issuer: str) -> Any:
    model = get_user_model()
    try:
        with transaction.atomic():
            user = model(username=person.name, email=person.email)
            user.set_unusable_password()
            user.save(force_insert=True)
            SignOnIdentity.objects.create(user=user, issuer=issuer, subject=person.subject)
    except IntegrityError as error:
        raise Forbidden(
            f"There is a user '{person.name}' already, who does not sign in with the identity provider.",
            remedy=f"An administrator can link the two in the admin, under Sign-on identities, with subject "
            f"'{person.subject}'.",
        ) from error
    return user


def _update(user: Any, person: ClaimedPerson, rules: GroupRules) -> None:
    """Groups that the provider decides about, and only those: those it is mapped to, or all."""
    if person.email and user.email != person.email:
        user.email = person.email
        user.save(update_fields=["email"])
    if rules.administrators and (user.is_superuser, user.is_staff) != (person.is_administrator,) * 2:
        user.is_superuser = user.is_staff = person.is_administrator
        user.save(update_fields=["is_superuser", "is_staff"])
    decided = Group.objects.filter(name__in=set(rules.named.values())) if rules.named else Group.objects.all()
    wanted = set(decided.filter(name__in=person.groups))
    has = set(user.groups.filter(pk__in=decided.values("pk")))
    if has - wanted:
        user.groups.remove(*(has - wanted))
    if wanted - has:
        user.groups.add(*(wanted - has))
