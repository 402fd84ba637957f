"""What the identity provider says is checked before it counts: where its parts are, and who signed its tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey

from segments.domain.access.claimed_person import ClaimedPerson, GroupRules, claimed_person, parse_group_names
from segments.errors import Forbidden, InvalidInput, NotAuthenticated, PinotAdminError, Unavailable
from segments.gateways.identity_provider import IdentityProvider, ProviderSettings, Started

ISSUER = "https://id.example"
STARTED = Started("state", "nonce", "verifier")
KEY = RSAKey.generate_key(2048, {"kid": "one"})
CLAIMS = {"iss": ISSUER, "sub": "7", "aud": "us", "exp": 4_000_000_000, "iat": 1_700_000_000, "nonce": "nonce"}
DOCUMENT = {
    "issuer": ISSUER,
    "authorization_endpoint": "https://anywhere.example/go",
    "token_endpoint": f"{ISSUER}/token",
    "jwks_uri": f"{ISSUER}/keys",
}


class Answers(IdentityProvider):
    """A provider whose answers are given."""

    def __init__(self, document: Mapping[str, Any] = DOCUMENT, token: str = "", hosts: frozenset[str] = frozenset()):
        super().__init__(ProviderSettings(ISSUER, "us", "secret", hosts=hosts))
        self.document, self.token, self.keys = dict(document), token, KeySet([KEY])
        self.asked: list[str] = []

    def _read(self, url: str, access_token: str = "") -> Any:
        self.asked.append(url)
        return self.keys.as_dict() if url.endswith("/keys") else self.document

    def _token(self, *_: Any) -> Mapping[str, Any]:
        return {"id_token": self.token}


def signed(claims: Mapping[str, Any], key: Any = KEY, **header: str) -> str:
    return jwt.encode({"alg": "RS256", "kid": "one", **header}, dict(claims), key, algorithms=["RS256", "HS256"])


def test_a_right_token_gives_its_claims() -> None:
    assert Answers(token=signed(CLAIMS)).finish("code", "https://us", STARTED).claims["sub"] == "7"


@pytest.mark.parametrize(
    "change",
    [{"iss": "https://other.example"}, {"aud": "others"}, {"exp": 1_600_000_000}, {"nonce": "other"}, {"azp": "others"}]
)  # fmt: skip
def test_a_token_of_another_issuer_for_another_client_or_time_does_not_count(change: dict[str, Any]) -> None:
    with pytest.raises(NotAuthenticated, match="does not count"):
        Answers(token=signed(CLAIMS | change)).finish("code", "https://us", STARTED)


@pytest.mark.parametrize("name", ["iss", "aud", "exp", "nonce"])
def test_a_token_that_lacks_a_claim_does_not_count(name: str) -> None:
    with pytest.raises(NotAuthenticated, match="does not count"):
        Answers(token=signed({k: v for k, v in CLAIMS.items() if k != name})).finish("code", "https://us", STARTED)


@pytest.mark.parametrize(
    "token",
    [
        signed(CLAIMS, RSAKey.generate_key(2048, {"kid": "one"})),
        signed(CLAIMS, OctKey.import_key("secret" * 8), alg="HS256"),
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiI3In0.",
        "",
        "no token",
    ],
    ids=["another key", "the secret as key", "unsigned", "none", "text"],
)
def test_a_token_that_the_provider_did_not_sign_does_not_count(token: str) -> None:
    with pytest.raises(NotAuthenticated, match="does not count"):
        Answers(token=token).finish("code", "https://us", STARTED)


def test_keys_that_the_provider_changed_since_are_read_again() -> None:
    provider = Answers(token=signed(CLAIMS))
    provider.start("https://us")
    provider.keys = KeySet([RSAKey.generate_key(2048, {"kid": "two"})])
    provider.token = signed(CLAIMS, provider.keys.keys[0], kid="two")
    assert provider.finish("code", "https://us", STARTED).claims["sub"] == "7"


@pytest.mark.parametrize("part", ["token_endpoint", "jwks_uri"])
@pytest.mark.parametrize("url", ["https://evil.example/x", "http://id.example/x", "file:///etc/passwd", None, 7])
def test_no_part_on_another_host_or_without_tls_is_called(part: str, url: object) -> None:
    provider = Answers(DOCUMENT | {part: url}, signed(CLAIMS))
    with pytest.raises(Forbidden, match=part):
        provider._checked(provider.document, part)


def test_another_host_is_called_when_the_settings_name_it() -> None:
    elsewhere = {**DOCUMENT, "jwks_uri": "https://keys.example/keys"}
    provider = Answers(elsewhere, signed(CLAIMS), frozenset({"keys.example"}))
    assert provider.finish("code", "https://us", STARTED).claims["sub"] == "7"


def test_a_document_of_another_issuer_is_not_believed_and_not_asked_for_again_at_once() -> None:
    provider = Answers(DOCUMENT | {"issuer": "https://other.example"})
    with pytest.raises(Unavailable, match="does not describe itself"):
        provider.start("https://us")
    with pytest.raises(Unavailable):
        provider.start("https://us")
    assert len(provider.asked) == 1


def test_the_secret_is_in_no_text_of_the_settings() -> None:
    assert "secret" not in repr(ProviderSettings(ISSUER, "us", "secret")).replace("client_secret", "")


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"sub": "1", "preferred_username": "ann", "email": "a@b"}, "ann"),
        ({"sub": "1", "email": "a@b"}, "a@b"),
        ({"sub": "1", "preferred_username": "x" * 151}, "1"),
        ({"sub": "1", "preferred_username": "a\nb"}, "1"),
        ({"sub": "1", "preferred_username": 7}, "1"),
        ({"sub": "1", "preferred_username": "ann (token nightly)", "email": "b@c"}, "b@c"),
        ({"sub": "1", "preferred_username": "System", "email": "anonymous"}, "1"),
    ],
)
def test_the_name_is_the_first_claim_that_is_one(claims: dict[str, Any], name: str) -> None:
    assert claimed_person(claims, GroupRules()) == ClaimedPerson("1", name, claims.get("email", ""), frozenset(), False)


@pytest.mark.parametrize("claims", [{}, {"sub": ""}, {"sub": 7}, {"sub": "a\0b"}])
def test_claims_without_a_subject_are_nobody(claims: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="gives no 'sub'"):
        claimed_person(claims, GroupRules())


@pytest.mark.parametrize(("value", "groups"), [("a", {"a"}), (["a", 7, ""], {"a"}), ({"a": 1}, set()), (None, set())])
def test_groups_are_texts_or_a_list_of_them(value: Any, groups: set[str]) -> None:
    assert claimed_person({"sub": "1", "groups": value}, GroupRules()).groups == groups


@pytest.mark.parametrize("text", ["a", "=b", "a=", "a=b; c"])
def test_a_mapping_of_groups_that_does_not_read_is_refused(text: str) -> None:
    with pytest.raises(PinotAdminError, match="does not name two groups"):
        parse_group_names(text)


def test_a_session_ends_only_at_an_address_that_may_have_the_token() -> None:
    def at(url: object) -> Answers:
        return Answers(DOCUMENT | {"end_session_endpoint": url})

    assert at(None).end("token", "https://us/login/", "s") == ""
    assert at("https://login.example/end?a=b").end("t", "https://us/login/", "s") == (
        "https://login.example/end?a=b&id_token_hint=t&client_id=us&post_logout_redirect_uri=https%3A%2F%2Fus%2Flogin%2F"
        "&state=s"
    )
    for url in ("http://id.example/end", "javascript:alert(1)", 7):
        with pytest.raises(Forbidden, match="end_session_endpoint"):
            at(url).end("token", "https://us/login/", "s")
