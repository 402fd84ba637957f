"""Everybody who could ask: what they are called in the matrix, and what a route that needs something does to them."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.contrib.auth.models import Permission, User

from segments.models import Grant
from segments.services.access.api_tokens import TokenWish, create_token
from segments.services.core.context import Actor
from tests.api.cluster import basic

PASSWORD = "a long enough secret"
_ORDER = ("read", "operate", "administer")


@dataclass(frozen=True)
class Asker:
    """``grants`` {tables: right}; ``permissions`` for the whole installation; ``scopes`` of a token, None: with a
    password.
    """

    name: str
    grants: dict[str, str] = field(default_factory=dict)
    permissions: tuple[str, ...] = ()
    is_superuser: bool = False
    scopes: tuple[str, ...] | None = None
    token_tables: str = "*"
    is_known: bool = True

    def make(self) -> str:
        """The value of ``Authorization``; empty for nobody."""
        if not self.is_known:
            return ""
        user = User.objects.create_user(self.name, password=PASSWORD, is_superuser=self.is_superuser)
        user.user_permissions.set(Permission.objects.filter(codename__in=self.permissions))
        for tables, right in self.grants.items():
            Grant.objects.create(user=user, tables=tables, right=right)
        if self.scopes is None:
            return basic(self.name, PASSWORD)
        return (
            f"Bearer {create_token(user, TokenWish('t', self.scopes, tables=self.token_tables), Actor(self.name))[1]}"
        )

    def may(self, need: str) -> bool:
        """Is one of whom ``need`` is required let in? Tables are ``t``."""
        word, _, what = need.partition(" + ")[0].partition(" ")
        if word == "open":
            return True
        if not self.is_known:
            return False
        if word in ("login", "read", "query"):
            return self._token_allows("read" if word == "login" else word, "cluster" if what == "" else what)
        return self._owner_may(word, what) and self._token_allows(word, what)

    def _owner_may(self, right: str, what: str) -> bool:
        enough = _ORDER[_ORDER.index(right) :]
        if self.is_superuser or set(enough) & set(self.permissions):
            return True
        covered = {"table": ("t", "*"), "cluster": ("*",), "installation": (), "somewhere": tuple(self.grants)}[what]
        return any(right in enough for tables, right in self.grants.items() if tables in covered)

    def _token_allows(self, right: str, what: str) -> bool:
        if self.scopes is None:
            return True
        allowed = {
            s for scope in self.scopes for s in ((scope,) if scope == "query" else _ORDER[: _ORDER.index(scope) + 1])
        }
        is_covered = self.token_tables == "*" or what == "any" or (what == "table" and self.token_tables == "t")
        return right in allowed and is_covered


ASKERS = [
    Asker("nobody", is_known=False),
    Asker("no_rights"),
    Asker("reader", {"t": "read"}),
    Asker("operator_of_t", {"t": "operate"}),
    Asker("administrator_of_t", {"t": "administer"}),
    Asker("administrator_of_another", {"other": "administer"}),
    Asker("operator_of_the_cluster", {"*": "operate"}),
    Asker("administrator_of_the_cluster", {"*": "administer"}),
    Asker("operator", permissions=("operate",)),
    Asker("administrator", permissions=("administer",)),
    Asker("superuser", is_superuser=True),
    Asker("token_read", is_superuser=True, scopes=("read",)),
    Asker("token_query", is_superuser=True, scopes=("query",)),
    Asker("token_operate", is_superuser=True, scopes=("operate",)),
    Asker("token_administer", is_superuser=True, scopes=("administer",)),
    Asker("token_administer_t", is_superuser=True, scopes=("administer",), token_tables="t"),
    Asker("token_administer_another", is_superuser=True, scopes=("administer",), token_tables="other"),
    Asker("token_administer_of_operator_of_t", {"t": "operate"}, scopes=("administer",)),
    Asker("token_administer_of_no_rights", scopes=("administer",)),
]
#: Those with a session, for whom pages are there; some of them, because a page costs more than an answer of REST.
_WITH_SESSIONS = (
    "nobody",
    "no_rights",
    "operator_of_t",
    "administrator_of_t",
    "administrator_of_another",
    "administrator",
)
PEOPLE = [asker for asker in ASKERS if asker.name in _WITH_SESSIONS]
