"""`pinotadmin config check` of TLS between parts: a right set, and everything that is wrong with others."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinotadmin.configuration.given import Given
from pinotadmin.configuration.review import findings
from pinotadmin.configuration.setting_texts import WrongText, as_file
from tests.tls.files import HAS_OPENSSL, MISSING, Authority, new_authority

pytestmark = pytest.mark.skipif(not HAS_OPENSSL, reason=MISSING)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = new_authority(tmp_path_factory.mktemp("authority"))
    made.sign("127.0.0.1")
    return made


def said(authority: Authority, **more: str) -> list[tuple[str, bool]]:
    """What is found with these settings: the words, and whether they are an error. An empty one is not set."""
    files = {"CERTIFICATE": "tls.pem", "KEY": "tls.key", "CA": "ca.pem"}
    environment = {f"PINOTADMIN_TLS_{name}": str(authority.folder / file) for name, file in files.items()}
    given = Given({**environment, "PINOTADMIN_SECURE_COOKIES": "true", **more})
    for name in (*environment, "PINOTADMIN_TRUSTED_ORIGINS", "PINOTADMIN_SECURE_COOKIES", "PINOTADMIN_DEBUG"):
        given.text(name, "", "")
    given.text("PINOTADMIN_HOST", "127.0.0.1", "")
    return [(found.message, found.is_error) for found in findings(given, connect=False)]


def test_right_files_leave_nothing_to_say(authority: Authority) -> None:
    assert said(authority) == []
    assert said(authority, PINOTADMIN_TLS_CERTIFICATE="", PINOTADMIN_TLS_KEY="") == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"PINOTADMIN_TLS_CA": ""}, "PINOTADMIN_TLS_CA is not"),
        ({"PINOTADMIN_TLS_CERTIFICATE": ""}, "PINOTADMIN_TLS_KEY is set and PINOTADMIN_TLS_CERTIFICATE is not"),
        ({"PINOTADMIN_TLS_KEY": "/nowhere/tls.key"}, "/nowhere/tls.key, which cannot be read"),
        ({"PINOTADMIN_TLS_CA": "/nowhere/ca.pem"}, "/nowhere/ca.pem, which cannot be read"),
        ({"PINOTADMIN_HOST": "127.0.0.2"}, "is not accepted for 127.0.0.2"),
    ],
    ids=["no authority", "no certificate", "no key", "no file of the authority", "another host"],
)
def test_what_is_wrong_is_named_with_its_file(authority: Authority, settings: dict[str, str], words: str) -> None:
    ((found, is_error),) = said(authority, **settings)
    assert (words in found, is_error) == (True, True), found


def test_a_file_is_named_from_the_root_on() -> None:
    assert (as_file(""), as_file("/etc/ca.pem")) == ("", "/etc/ca.pem")
    with pytest.raises(WrongText, match=r"a path that begins with /, not 'ca\.pem'"):
        as_file("ca.pem")


def test_what_is_to_be_considered_is_no_error(authority: Authority) -> None:
    key = Path(authority.sign("127.0.0.1", "soon", days=20).key)
    key.chmod(0o644)
    more = {"PINOTADMIN_TLS_CERTIFICATE": str(authority.folder / "soon.pem"), "PINOTADMIN_TLS_KEY": str(key)}
    found = said(authority, **more, PINOTADMIN_SECURE_COOKIES="")
    assert [is_error for _, is_error in found] == [False] * 3
    for words in ("ends in 19 days", f"chmod 600 {key}", "PINOTADMIN_SECURE_COOKIES=true"):
        assert any(words in message for message, _ in found), words
