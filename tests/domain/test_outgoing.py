"""Addresses that a user's text may have the installation call: by kind, root and number."""

from __future__ import annotations

import ipaddress

import pytest

from segments.domain.access.outgoing import (
    HTTP,
    Kind,
    Place,
    Rules,
    is_of_this_machine,
    parse_broker,
    parse_url,
    store_address,
)
from segments.errors import InvalidInput


def numbers(*texts: str) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    return [ipaddress.ip_address(t) for t in texts]


@pytest.mark.parametrize(
    ("found", "allowed"),
    [
        (["127.0.0.1"], True),
        (["127.9.9.9", "::1"], True),
        (["::ffff:127.0.0.1"], True),
        (["127.0.0.1", "10.0.0.1"], False),
        (["2002:7f00:1::1"], False),  # IPv4's loopback seen through a relay somewhere else
        (["64:ff9b::7f00:1"], False),
        (["0.0.0.0"], False),
        (["::"], False),
        ([], False),
    ],
)
def test_without_roots_only_this_machine_is_called_and_only_when_it_serves_itself(
    found: list[str], allowed: bool
) -> None:
    place = Place("name", 1)
    for loopback in (True, False):
        rules = Rules(Kind.KAFKA, loopback=loopback)
        if allowed and loopback:
            rules.judge(place, numbers(*found))
        else:
            with pytest.raises(InvalidInput, match="PINOTADMIN_KAFKA_ROOTS"):
                rules.judge(place, numbers(*found))


@pytest.mark.parametrize(
    "number",
    [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "fe80::1",
        "0.0.0.0",
        "::",
        "224.0.0.1",
        "255.255.255.255",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
    ],
)
def test_a_root_whose_name_leads_to_a_clouds_own_services_is_not_called(number: str) -> None:
    with pytest.raises(InvalidInput):
        Rules(Kind.REDIS, ["redis.example"]).judge(Place("redis.example", 6379), numbers("10.0.0.1", number))
    Rules(Kind.REDIS, ["redis.example"]).judge(Place("redis.example", 6379), numbers("10.0.0.1"))


def test_a_name_that_no_rule_can_allow_is_not_even_resolved() -> None:
    assert not Rules(Kind.KAFKA, ["kafka.example"], loopback=True).may_be_asked_for(Place("secret.evil.example", 1))
    assert not Rules(Kind.KAFKA).may_be_asked_for(Place("secret.evil.example", 1))
    assert Rules(Kind.KAFKA, ["kafka.example"]).may_be_asked_for(Place("kafka.example", 1))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("k", Place("k", 9092)),
        (" K.Example.:1 ", Place("k.example", 1)),
        ("SASL_SSL://k:2", Place("k", 2)),
        ("[::1]:3", Place("::1", 3)),
        ("2130706433:4", Place("2130706433", 4)),
    ],
)
def test_brokers_as_people_write_them(text: str, place: Place) -> None:
    assert parse_broker(text, Kind.KAFKA) == place


@pytest.mark.parametrize(
    "text", ["", "k:x", "k:99999", "a@k:1", "k/x", "k?x=1", "k#x", "k\0:1", "k\n:1", "k:1 ,", "[::1", "ké:1", "x" * 300]
)
def test_what_is_no_broker_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_broker(text, Kind.KAFKA)


@pytest.mark.parametrize(
    "text",
    [
        "http://a@b/",
        "http:///x",
        "http://b/../x",
        "http://b/%2e%2e/x",
        "http://b/%00",
        "http://b\\@c/",
        "HTTP//b",
        "gopher://b/",
        "http://b/ x",
        "http://b/\tx",
        "http://[::1",
        "http://b:0x50/",
        "http://" + "b" * 3000,
    ],
)
def test_what_programs_read_differently_is_no_address(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_url(text, Kind.FILES, HTTP)


@pytest.mark.parametrize(
    ("address", "opened"),
    [
        ("s3://bucket/in/a/s0", "s3://bucket/in/a/s0?region=eu"),
        ("s3://bucket/in/s0?region=eu", "s3://bucket/in/s0?region=eu"),
        ("s3://bucket/in/s0?region=eu&endpoint_override=169.254.169.254:80&scheme=http", None),
        ("s3://bucket/in/s0?endpoint_override=evil.example", None),
        ("s3://key:secret@bucket/in/s0", None),
        ("s3://bucket/in/s0#x", None),
        ("s3://bucket/in/../out/s0", None),
        ("s3://bucket/in/%2e%2e/out/s0", None),
        ("s3://bucket/into/s0", None),
        ("s3://other/in/s0", None),
        ("gs://bucket/in/s0", None),
        ("file:/data/drop/s0", "file:///data/drop/s0"),
        ("file:///data/drop/s0", "file:///data/drop/s0"),
        ("file://elsewhere/data/drop/s0", None),
        ("/data/drop/s0", None),
    ],
)
def test_options_and_login_of_a_store_are_its_roots_only(address: str, opened: str | None) -> None:
    rules = Rules(Kind.FILES, ["s3://bucket/in?region=eu", "file:///data/drop"])
    if opened is None:
        with pytest.raises(InvalidInput):
            store_address(address, rules)
    else:
        assert store_address(address, rules)[0] == opened


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("localhost", True),
        ("[::1]", True),
        ("::1", True),
        ("127.1.2.3", True),
        ("testserver", True),
        ("0.0.0.0", False),
        ("::", False),
        ("", False),
        ("*", False),
        (".localhost", False),
        ("pinot.example", False),
        ("10.0.0.1", False),
    ],
)
def test_names_that_only_this_machine_reaches(host: str, expected: bool) -> None:
    assert is_of_this_machine(host) is expected
