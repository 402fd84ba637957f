"""Values come from the environment, else from the file, else they are defaults; what is wrong is named."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from kombu import Connection

from pinotadmin.configuration.given import FILE, Given
from pinotadmin.configuration.setting_texts import (
    as_bool,
    as_bytes,
    as_number,
    as_seconds,
    as_spark_master,
    number_from,
    with_checked_certificate,
)
from pinotadmin.settings.database import database


def written(folder: Path, text: str) -> dict[str, str]:
    """An environment that names a file with this text."""
    file = folder / "pinotadmin.toml"
    file.write_text(text)
    return {FILE: str(file)}


def test_the_environment_comes_before_the_file_and_the_file_before_the_default(tmp_path: Path) -> None:
    environ = written(tmp_path, 'PINOTADMIN_HOST = "from.file"\nPINOTADMIN_PORT = 9100\n') | {"PINOTADMIN_PORT": "9200"}
    given = Given(environ)
    found = (
        given.text("PINOTADMIN_HOST", "127.0.0.1", ""),
        given.value("PINOTADMIN_PORT", "9000", "", as_number),
        given.value("PINOTADMIN_UI", "true", "", as_bool),
    )
    sources = [given.settings[n].source for n in ("PINOTADMIN_HOST", "PINOTADMIN_PORT", "PINOTADMIN_UI")]
    assert (found, sources) == (("from.file", 9200, True), [environ[FILE], "environment", "default"])


def test_what_only_the_file_has_reaches_children_and_libraries_through_the_environment(tmp_path: Path) -> None:
    environ = written(tmp_path, 'PINOTADMIN_DEBUG = true\nSPARK_MASTER = "local[1]"\n')
    Given(environ)
    assert (environ["PINOTADMIN_DEBUG"], environ["SPARK_MASTER"]) == ("true", "local[1]")


def test_a_wrong_text_stops_the_process_with_the_name_and_what_it_must_be() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^PINOTADMIN_PORT must be from 0 to 65535, not 70000\.$"):
        Given({"PINOTADMIN_PORT": "70000"}).value("PINOTADMIN_PORT", "9000", "", number_from(0, 65_535))


@pytest.mark.parametrize("text", ["0", "0.5", "soon", "1.2345", "-3"])
def test_seconds_are_one_or_more(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="A must be a number of seconds, 1 or more, not"):
        Given({"A": text}).value("A", "15", "", as_seconds)
    assert Given({"A": "3.5"}).value("A", "15", "", as_seconds) == 3.5


def test_where_problems_are_collected_the_default_stands_in() -> None:
    given = Given({"A": "much", "B": "maybe"})
    given.stops_at_problems = False
    assert (given.value("A", "1K", "", as_bytes), given.value("B", "false", "", as_bool)) == (1024, False)
    assert [s.problem for s in given.settings.values()] == [
        "A must be a number of bytes such as 512M or 20G, not 'much'.",
        "B must be true or false, not 'maybe'.",
    ]


def test_a_name_that_looks_like_ours_and_is_none_is_listed_with_the_nearest_that_is(tmp_path: Path) -> None:
    given = Given(written(tmp_path, "PINOTADMIN_PROT = 9100\nOTHER = 1\n") | {"PINOTADMIN_HOTS": "x", "HOME": "/root"})
    for name in ("PINOTADMIN_PORT", "PINOTADMIN_HOST"):
        given.text(name, "", "")
    assert given.unknown() == [
        ("OTHER", ""), ("PINOTADMIN_HOTS", "PINOTADMIN_HOST"), ("PINOTADMIN_PROT", "PINOTADMIN_PORT"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [("PORT 9000", "is not TOML"), ("PINOTADMIN_PORT = [1]", "must be a text, a number, true or false")],
)
def test_a_file_that_cannot_be_taken_is_refused_with_the_reason(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=said):
        Given(written(tmp_path, text))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="cannot be read"):
        Given({FILE: str(tmp_path / "none.toml")})


def test_parameters_of_a_postgresql_address_reach_libpq() -> None:
    found = database("postgresql://me:s%40fe@db.example:5433/name?sslmode=verify-full&connect_timeout=7")
    expected = {"NAME": "name", "USER": "me", "PASSWORD": "s@fe", "HOST": "db.example", "PORT": "5433"}
    assert {k: found[k] for k in expected} == expected
    assert found["OPTIONS"] == {"sslmode": "verify-full", "connect_timeout": "7", "tcp_user_timeout": "10000"}


#: How long a host that is gone is waited for.
OUR_OWN = {"connect_timeout": "3", "tcp_user_timeout": "10000"}


def test_a_folder_of_sockets_can_be_the_host_of_a_postgresql_address() -> None:
    found = database("postgresql://me@/name?host=/run/postgresql&port=5444")
    assert (found["HOST"], found["PORT"], found["OPTIONS"]) == ("/run/postgresql", "5444", OUR_OWN)


@pytest.mark.parametrize(
    ("url", "said"),
    [("mysql://h/n", "sqlite:// or postgresql://"), ("postgresql://h/n?sslmod=x", "without the parameter sslmod")],
)
def test_an_address_of_no_database_is_refused(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        database(url)


def test_the_certificate_of_a_redis_is_checked_by_workers_too() -> None:
    for given, required in (
        ("rediss://:pw@h:6380/0", ssl.CERT_REQUIRED),
        ("rediss://:pw@h:6380/0?ssl_ca_certs=/etc/ca.pem", ssl.CERT_REQUIRED),
        ("rediss://:pw@h:6380/0?ssl_cert_reqs=none", ssl.CERT_NONE),
    ):
        with Connection(with_checked_certificate(given)) as connection:
            assert connection.ssl["ssl_cert_reqs"] == required
    assert with_checked_certificate("redis://h:6379/0") == "redis://h:6379/0"


@pytest.mark.parametrize(
    "text", ["spark://host:65536", "spark://host", "spark://a:1,b", "mesos://host:5050", "local[", ""]
)
def test_a_spark_master_that_is_none_is_named_with_the_forms_there_are(text: str) -> None:
    if not text:
        assert Given({}).value("SPARK_MASTER", "local[*]", "", as_spark_master) == "local[*]"
        return
    with pytest.raises(ImproperlyConfigured, match=r"SPARK_MASTER must be local\[\*\], spark://HOST:PORT"):
        Given({"SPARK_MASTER": text}).value("SPARK_MASTER", "local[*]", "", as_spark_master)


@pytest.mark.parametrize(
    "text",
    [
        "local",
        "local[2]",
        "local[*,3]",
        "local-cluster[2,1,1024]",
        "spark://a:7077,[::1]:7078",
        "yarn",
        "k8s://https://a:443",
    ],
)
def test_every_form_of_a_spark_master_is_taken(text: str) -> None:
    assert as_spark_master(text) == text
