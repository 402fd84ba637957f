"""Signing in with OpenID Connect: the way to the provider, and the checked claims of who comes back.

Authorization code flow with PKCE and a nonce. Where the provider's parts are is read from its own document; they are
only called on hosts that the installation's settings name, so that the client's secret goes nowhere else.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import requests
from authlib.common.errors import AuthlibBaseError
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet

from segments.errors import Forbidden, NotAuthenticated, Unavailable

_DOCUMENT: Final = "/.well-known/openid-configuration"
#: Seconds that a call may take, and that what the provider says of itself counts.
_CALL_S: Final = 8.0
_KNOWN_S: Final = 600.0
#: Seconds for which nobody asks again a provider that did not answer: each try may hold a thread for ``_CALL_S``.
_SILENT_S: Final = 5.0
_MOST_BYTES: Final = 1 << 20
#: Seconds by which the two clocks may differ.
_LEEWAY_S: Final = 60
#: Signatures with the provider's own key only: with one made from the client's secret or none, others could sign.
_ALGORITHMS: Final = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]


@dataclass(frozen=True)
class ProviderSettings:
    """``hosts``: names of hosts besides the issuer's that may be called."""

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str = "openid profile email"
    hosts: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Started:
    """What a browser's session keeps while the person is at the provider. Texts nobody can guess."""

    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True)
class SignedIn:
    """``claims`` of the person; ``id_token``: what the provider wants to see again when their session is to end."""

    claims: Mapping[str, Any]
    id_token: str = field(repr=False)


class IdentityProvider:
    """One provider. Raises Unavailable when it does not answer, or not as the standard says."""

    def __init__(self, settings: ProviderSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._known: tuple[float, Mapping[str, Any], KeySet] | None = None
        self._silent_until = 0.0

    def start(self, redirect_uri: str) -> tuple[str, Started]:
        """The address to send the browser to, and what to keep until it is back at ``redirect_uri``."""
        document, _ = self._description()
        started = Started(generate_token(43), generate_token(43), generate_token(64))
        with self._session(redirect_uri) as session:
            url, _ = session.create_authorization_url(
                self._checked(document, "authorization_endpoint", is_called=False),
                state=started.state,
                nonce=started.nonce,
                code_verifier=started.verifier,
            )
        return str(url), started

    def finish(self, code: str, redirect_uri: str, started: Started) -> SignedIn:
        """The person who came back with ``code``. NotAuthenticated for a code that does not count, or a token that is
        not for us or not for this browser.
        """
        document, keys = self._description()
        token = self._token(document, code, redirect_uri, started)
        id_token = str(token.get("id_token") or "")
        claims = self._claims(id_token, keys, started)
        more = self._more(document, str(token.get("access_token") or ""), str(claims["sub"]))
        return SignedIn(claims | more, id_token)

    def end(self, id_token: str, back: str, state: str) -> str:
        """The address to send the browser to, so that the session ends at the provider, too, which then sends it to
        ``back``; empty where it has none. Forbidden where that is no place for the token.
        """
        document, _ = self._description()
        if not document.get("end_session_endpoint"):
            return ""
        address = self._checked(document, "end_session_endpoint", is_called=False)
        hints = {"id_token_hint": id_token, "client_id": self._settings.client_id}
        query = urlencode({**hints, "post_logout_redirect_uri": back, "state": state})
        return f"{address}{'&' if '?' in address else '?'}{query}"

    def _token(self, document: Mapping[str, Any], code: str, redirect_uri: str, started: Started) -> Mapping[str, Any]:
        with self._session(redirect_uri) as session:
            try:
                found: Mapping[str, Any] = session.fetch_token(
                    self._checked(document, "token_endpoint"),
                    code=code,
                    grant_type="authorization_code",
                    code_verifier=started.verifier,
                    timeout=_CALL_S,
                    allow_redirects=False,
                )
            except AuthlibBaseError as error:
                raise _refused(f"it refused the code ({str(error)[:200]})") from error
            except (requests.RequestException, ValueError, TypeError) as error:
                raise self._silent(error) from error
        return found

    def _claims(self, token: str, keys: KeySet, started: Started) -> dict[str, Any]:
        settings = self._settings
        options = {
            "iss": {"essential": True, "value": settings.issuer},
            "aud": {"essential": True, "value": settings.client_id},
        }
        try:
            read = self._decoded(token, keys)
            claims = CodeIDToken(
                read.claims, read.header, options, {"nonce": started.nonce, "client_id": settings.client_id}
            )
            claims.validate(leeway=_LEEWAY_S)
        except (JoseError, AuthlibBaseError, ValueError, TypeError, KeyError) as error:
            raise _refused(f"its token does not count ({type(error).__name__}: {str(error)[:200]})") from error
        return dict(claims)

    def _decoded(self, token: str, keys: KeySet) -> jwt.Token:
        """With the keys of today: the provider may have changed them since they were read."""
        try:
            return jwt.decode(token, keys, algorithms=_ALGORITHMS)
        except InvalidKeyIdError:
            return jwt.decode(token, self._description(again=True)[1], algorithms=_ALGORITHMS)

    def _more(self, document: Mapping[str, Any], access_token: str, subject: str) -> dict[str, Any]:
        """What the provider adds about the person on request: some list groups there only."""
        if not access_token or not document.get("userinfo_endpoint"):
            return {}
        found = self._read(self._checked(document, "userinfo_endpoint"), access_token)
        if not isinstance(found, dict) or found.get("sub") != subject:
            raise _refused("it describes another person than it signed in")
        return found

    def _description(self, *, again: bool = False) -> tuple[Mapping[str, Any], KeySet]:
        """What the provider says of itself, and its keys; remembered for some minutes."""
        with self._lock:
            now = time.monotonic()
            if self._known is None or again or now - self._known[0] > _KNOWN_S:
                if now < self._silent_until:
                    raise self._silent(TimeoutError())
                try:
                    self._known = (now, *self._described())
                except Unavailable:
                    self._silent_until = time.monotonic() + _SILENT_S
                    raise
            return self._known[1], self._known[2]

    def _described(self) -> tuple[Mapping[str, Any], KeySet]:
        document = self._read(self._settings.issuer.rstrip("/") + _DOCUMENT)
        if not isinstance(document, dict) or document.get("issuer") != self._settings.issuer:
            raise Unavailable(
                f"'{self._settings.issuer}' does not describe itself as this issuer.",
                remedy="Write PINOTADMIN_OIDC_ISSUER as the provider's own document has it.",
            )
        try:
            return document, KeySet.import_key_set(self._read(self._checked(document, "jwks_uri")))
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise self._silent(error) from error

    def _checked(self, document: Mapping[str, Any], part: str, *, is_called: bool = True) -> str:
        """The address of a part, on a host that may be called. The browser goes to the authorization endpoint by
        itself, so that may be anywhere with TLS.
        """
        url = document.get(part)
        parts = urlsplit(url) if isinstance(url, str) else urlsplit("")
        issuer = urlsplit(self._settings.issuer)
        is_safe = parts.scheme == "https" or (parts.scheme, parts.netloc) == (issuer.scheme, issuer.netloc)
        known = not is_called or parts.netloc == issuer.netloc or parts.hostname in self._settings.hosts
        if not (parts.hostname and is_safe and known):
            raise Forbidden(
                f"The identity provider has its {part} at '{str(url)[:200]}', which is not to be called.",
                remedy="If that is right, name its host in PINOTADMIN_OIDC_HOSTS; it has to use https.",
            )
        return str(url)

    def _read(self, url: str, access_token: str = "") -> Any:
        headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {access_token}"} if access_token else {})
        try:
            with requests.get(url, headers=headers, timeout=_CALL_S, allow_redirects=False, stream=True) as answer:
                if answer.status_code != 200:
                    raise Unavailable(
                        f"The identity provider answers {answer.status_code} at {url}.",
                        remedy="Check PINOTADMIN_OIDC_ISSUER, or try again later.",
                    )
                body = answer.raw.read(_MOST_BYTES + 1, decode_content=True)
            if len(body) > _MOST_BYTES:
                raise ValueError("the answer is too large")
            return json.loads(body)
        except (requests.RequestException, ValueError, RecursionError, OSError) as error:
            raise self._silent(error) from error

    def _session(self, redirect_uri: str) -> OAuth2Session:
        settings = self._settings
        return OAuth2Session(
            settings.client_id,
            settings.client_secret,
            scope=settings.scope,
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
        )

    def _silent(self, error: Exception) -> Unavailable:
        return Unavailable(
            f"The identity provider {self._settings.issuer} does not answer as expected ({type(error).__name__}).",
            remedy="Try again later; people with a password of this installation can sign in with it.",
        )


def _refused(why: str) -> NotAuthenticated:
    return NotAuthenticated(f"The identity provider did not sign you in: {why}.", remedy="Sign in again.")
