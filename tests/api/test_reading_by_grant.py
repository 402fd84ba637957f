"""Where reading is restricted: who reads which table over REST, and that nothing else tells of the others."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from segments.models import Grant
from segments.services.rights import has_right, has_right_everywhere, has_right_somewhere, read_grants
from tests.api.cluster import ApiCluster

OWN = "pinotadmin"


def grant(name: str, tables: str, right: str = "read", cluster: str = OWN) -> None:
    Grant.objects.create(user=User.objects.get(username=name), tables=tables, right=right, cluster=cluster)


@pytest.fixture
def restricted(settings: Any) -> None:
    """Reading takes a grant."""
    settings.READ_BY_GRANT = True


@pytest.fixture
def ann(cluster: ApiCluster, restricted: None) -> Client:
    """May read ``t`` and nothing else."""
    cluster.create("t").create("hidden")
    client = cluster.as_user("ann")
    grant("ann", "t")
    return client


@pytest.mark.django_db
def test_every_active_user_reads_everything_unless_reading_is_restricted(settings: Any) -> None:
    ann = User.objects.create_user("ann")
    assert has_right(ann, "read", "prod", "t")
    assert has_right_somewhere(ann, "read", "prod")
    assert read_grants(ann) is None
    settings.READ_BY_GRANT = True
    assert not has_right(ann, "read", "prod", "t")
    assert not has_right_somewhere(ann, "read", "prod")
    assert read_grants(ann) == []


@pytest.mark.django_db
def test_any_right_for_a_table_includes_reading_it_and_reading_includes_no_other(restricted: None) -> None:
    ann = User.objects.create_user("ann")
    for tables, right in (("r_*", "read"), ("o_*", "operate"), ("a_*", "administer")):
        grant("ann", tables, right, "prod")
    assert [has_right(ann, "read", "prod", t) for t in ("r_1", "o_1_OFFLINE", "a_1", "x", None)] == [True, True, True, False, False]
    assert not has_right(ann, "read", "test", "r_1")
    assert not has_right(ann, "operate", "prod", "r_1")
    assert sorted(read_grants(ann) or []) == [("prod", "a_*"), ("prod", "o_*"), ("prod", "r_*")]


@pytest.mark.parametrize(("permission", "reads"), [("read", True), ("operate", True), ("administer", True), ("view_table", False)])
@pytest.mark.django_db
def test_a_permission_for_the_whole_installation_includes_reading_all(restricted: None, permission: str, reads: bool) -> None:
    from django.contrib.auth.models import Permission

    ann = User.objects.create_user("ann")
    ann.user_permissions.add(Permission.objects.get(codename=permission))
    assert has_right_everywhere(ann, "read") is reads
    assert not has_right_everywhere(User(username="away", is_active=False, is_superuser=True), "read")


def test_a_path_of_one_table_answers_only_those_who_may_read_it(ann: Client) -> None:
    paths = ["/tables/{}", "/tables/{}/schema", "/tables/{}/idealstate", "/schemas/{}", "/segments/{}?type=OFFLINE"]
    assert {ann.get(p.format("t")).status_code for p in paths} == {200}
    refused = {ann.get(p.format(name)).status_code for p in paths for name in ("hidden", "hidden_OFFLINE", "missing")}
    assert refused == {403}  # a table that is not there is refused the same way: nothing tells which exist
