"""/api/v1/tokens: API tokens of the one who asks. A token is shown once, when it is made."""

from __future__ import annotations

from typing import Any, Final

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param, json_body
from segments.domain.token_scope import EVERYTHING, SCOPES
from segments.errors import InvalidInput
from segments.models import ApiToken
from segments.services.api_tokens import DEFAULT_DAYS, TokenWish, create_token, revoke_token, state_of, visible_tokens

_TEXTS: Final = {"cluster": EVERYTHING, "tables": EVERYTHING}
_FIELDS: Final = ("name", "scopes", *_TEXTS, "expiresInDays")


class Tokens(ApiView):
    """The tokens of who asks; make one."""

    answers = {"GET": {200: "object"}, "POST": {201: "object"}}
    rights = {"POST": "read"}
    #: Everybody has tokens of their own; nothing of any table is in the answer.
    reading = "open"
    parameters = {"GET": ("all",), "POST": ("reason",)}

    def get(self, request: Request) -> Response:
        """Newest first, also expired and revoked ones; ``all=true``: everybody's, for administrators of the installation."""
        found = visible_tokens(request.user, of_all=bool_param(request, "all"))
        return Response({"tokens": [token_json(token) for token in found]})

    def post(self, request: Request) -> Response:
        """Make one: ``{"name", "scopes": ["query"], "tables": "sales_*", "cluster": "*", "expiresInDays": 90}``.

        201 with ``token``: what is to be sent as ``Authorization: Bearer``. It is shown here and never again.
        """
        row, secret = create_token(request.user, _wish(json_body(request)), self.actor)
        answer = {**token_json(row), "token": secret}
        return Response(answer, status=201, headers={"Location": f"/api/v1/tokens/{row.pk}", "Cache-Control": "no-store"})


class OneToken(ApiView):
    """One token by its id."""

    rights = {"DELETE": "read"}
    reading = "open"
    parameters = {"DELETE": ("reason",)}

    def delete(self, request: Request, token: int) -> Response:
        """Revoke it, with those that were made with it: it opens nothing from now on. 404 for tokens of others, but for administrators."""
        revoked = revoke_token(request.user, token, self.actor)
        return Response({"status": f"Token {token} is revoked.", "revoked": [row.pk for row in revoked]})


def token_json(token: ApiToken) -> dict[str, Any]:
    """A token without what is secret."""
    return {
        "id": token.pk, "name": token.name, "owner": token.owner.get_username(), "scopes": token.scopes, "cluster": token.cluster,
        "tables": token.tables, "state": state_of(token), "created": token.created_at.isoformat(), "expires": token.expires_at.isoformat(),
        "lastUsed": token.last_used_at.isoformat() if token.last_used_at else None, "lastUsedFrom": token.last_used_from or None,
        "revoked": token.revoked_at.isoformat() if token.revoked_at else None, "revokedBy": token.revoked_by or None,
    }  # fmt: skip


def _wish(body: Any) -> TokenWish:
    if not isinstance(body, dict):
        raise InvalidInput("A token is an object.", remedy='Send {"name": "nightly", "scopes": ["query"]}.')
    unknown = sorted(str(key) for key in set(body) - set(_FIELDS))
    if unknown:
        raise InvalidInput(f"'{unknown[0]}' is no field of a token.", remedy=f"There are {', '.join(_FIELDS)}.", field=unknown[0])
    scopes, days = body.get("scopes"), body.get("expiresInDays", DEFAULT_DAYS)
    if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
        raise InvalidInput("'scopes' must be a list of texts.", remedy=f"There are {', '.join(SCOPES)}.", field="scopes")
    if not isinstance(days, int) or isinstance(days, bool):
        raise InvalidInput("'expiresInDays' must be a whole number.", field="expiresInDays")
    texts = {"name": body.get("name", ""), **{field: body.get(field, default) for field, default in _TEXTS.items()}}
    for field, value in texts.items():
        if not isinstance(value, str):
            raise InvalidInput(f"'{field}' must be a text.", field=field)
    return TokenWish(texts["name"], tuple(dict.fromkeys(scopes)), texts["cluster"], texts["tables"], days)
