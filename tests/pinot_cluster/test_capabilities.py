"""What a version of Pinot lacks is reported with the reason; what is not known is left to the cluster."""

from __future__ import annotations

import pytest

from segments.domain.pinot import capabilities
from segments.domain.pinot.capabilities import Has, PinotVersion, parse_version


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0.11.0", PinotVersion(0, 11)),
        ("1.2.0-SNAPSHOT-7c3f3b9", PinotVersion(1, 2, 0, is_release=False)),
        ("1.5.1-c4d8ff0e", PinotVersion(1, 5, 1)),
        (" v1.3 ", PinotVersion(1, 3)),
        ("unknown", None),
        ("", None),
        (None, None),
    ],
)
def test_versions_are_read_as_controllers_write_them(text: str | None, found: PinotVersion | None) -> None:
    assert parse_version(text) == found


def test_a_snapshot_comes_before_its_release() -> None:
    assert PinotVersion(1, 1) < PinotVersion(1, 2, is_release=False) < PinotVersion(1, 2)


@pytest.mark.parametrize(
    ("version", "name", "has"),
    [
        ("0.11.0", capabilities.PAUSELESS, Has.NO),
        ("0.11.0", capabilities.PAUSE, Has.YES),
        ("0.11.0", capabilities.FORCE_COMMIT_STATUS, Has.NO),
        ("1.2.0", capabilities.FORCE_COMMIT_STATUS, Has.YES),
        ("1.0.0", capabilities.FORCE_COMMIT_STATUS, Has.UNKNOWN),
        ("1.5.1", capabilities.PAUSELESS, Has.YES),
        ("1.4.0", capabilities.PAUSELESS, Has.UNKNOWN),
        ("1.5.1", capabilities.DELETE_GUARD, Has.NO),
        ("1.6.0-SNAPSHOT", capabilities.DELETE_GUARD, Has.YES),
        ("9.0.0", capabilities.PAUSE_PARTITIONS, Has.UNKNOWN),
        ("unknown", capabilities.PAUSELESS, Has.UNKNOWN),
    ],
)
def test_a_capability_is_there_lacking_or_not_known(version: str, name: str, has: Has) -> None:
    assert capabilities.capability(name).in_version(parse_version(version)) is has
    assert capabilities.has(parse_version(version), name) is (has is not Has.NO)


def test_what_0_11_lacks_is_reported_in_sentences() -> None:
    found = capabilities.all_lacking(parse_version("0.11.0"))
    for name in (
        capabilities.PAUSELESS,
        capabilities.REINGESTION,
        capabilities.PAUSE_TOPICS,
        capabilities.PAUSE_PARTITIONS,
        capabilities.DELETE_GUARD,
    ):
        assert found[name].startswith("Pinot 0.11.0 ")
        assert found[name].endswith(".")
    assert capabilities.PAUSE not in found
    assert "Pinot 1.5.1 has it." in found[capabilities.PAUSELESS]


def test_nothing_is_reported_to_lack_where_the_version_is_not_known() -> None:
    assert capabilities.all_lacking(None) == {}


def test_a_newer_version_never_lacks_what_an_older_one_has() -> None:
    known = [parse_version(v) for v in ("0.11.0", "1.2.0", "1.5.1", "1.6.0-SNAPSHOT")]
    for capability in capabilities.CAPABILITIES:
        answers = [capability.in_version(v) for v in known]
        assert Has.NO not in answers[answers.index(Has.YES) :] if Has.YES in answers else True
