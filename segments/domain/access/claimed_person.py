"""Who signed in with an identity provider, read from the claims of an ID token: name, groups, rights by groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from segments.errors import Forbidden, InvalidInput

_LONGEST_NAME: Final = 150
_LONGEST: Final = 255
_MOST_GROUPS: Final = 1_000
#: Claims that may hold the name, the one for people first.
_NAMES: Final = ("preferred_username", "email", "sub")
#: Who acts without being a person: passes, other processes, callers without credentials.
_OF_OTHERS: Final = frozenset(("system", "cluster", "anonymous"))


@dataclass(frozen=True)
class GroupRules:
    """``claim``: the claim that lists groups. ``named``: {group of the provider: group here}; empty: groups of the same
    name. ``required``: only members of one of these may sign in; empty: everybody. ``administrators``: members of one
    of these administer the whole installation.
    """

    claim: str = "groups"
    named: Mapping[str, str] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    administrators: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ClaimedPerson:
    """``subject`` is the provider's own identifier, which never changes; ``groups`` are names of groups here."""

    subject: str
    name: str
    email: str
    groups: frozenset[str]
    is_administrator: bool


def claimed_person(claims: Mapping[str, Any], rules: GroupRules) -> ClaimedPerson:
    """The person of checked claims. InvalidInput where ``sub`` is missing, or a name that is a person's; Forbidden to
    those in no required group.
    """
    subject = _text(claims, "sub", _LONGEST)
    if not subject:
        raise InvalidInput("The identity provider gives no 'sub'.", remedy="Check the client's settings there.")
    given = (*(_text(claims, claim, _LONGEST_NAME) for claim in _NAMES), subject[:_LONGEST_NAME])
    name = next((text for text in given if text and not _is_of_others(text)), "")
    if not name:
        raise InvalidInput(
            "The identity provider gives no name that a person can have here.",
            remedy="Have it give 'preferred_username' or 'email'.",
        )
    groups = _groups(claims.get(rules.claim))
    if rules.required and not groups & rules.required:
        raise Forbidden(
            f"'{name}' is in none of the groups that may sign in here.",
            remedy=f"Have the identity provider list one of them in the claim '{rules.claim}'.",
        )
    here = frozenset(rules.named[g] for g in groups if g in rules.named) if rules.named else groups
    return ClaimedPerson(subject, name, _text(claims, "email", 254), here, bool(groups & rules.administrators))


def _is_of_others(name: str) -> bool:
    """Would audit records take the person for an API token (``ann (token nightly)``), a process, or nobody?"""
    return "(token " in name or name.lower() in _OF_OTHERS


def parse_group_names(text: str) -> dict[str, str]:
    """``theirs=ours; theirs2=ours2`` as a mapping. InvalidInput for anything else."""
    found: dict[str, str] = {}
    for part in filter(None, (p.strip() for p in text.split(";"))):
        theirs, sign, ours = (piece.strip() for piece in part.rpartition("="))
        if not (sign and theirs and ours):
            text = f"'{part}' does not name two groups."
            raise InvalidInput(text, remedy="Write group-there=group-here; other=other.")
        found[theirs] = ours
    return found


def _text(claims: Mapping[str, Any], name: str, longest: int) -> str:
    value = claims.get(name)
    return value.strip() if isinstance(value, str) and value.isprintable() and len(value) <= longest else ""


def _groups(value: Any) -> frozenset[str]:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        return frozenset()
    return frozenset(g for g in value[:_MOST_GROUPS] if isinstance(g, str) and g and len(g) <= _LONGEST)
