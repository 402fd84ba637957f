"""People sign in with the identity provider: who they become here, with which rights, and who is refused."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
import requests
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from segments.errors import Unavailable
from segments.gateways.identity_provider import IdentityProvider
from segments.models import AuditEvent, Grant, SignOnIdentity
from segments.services.access.rights import Right, has_right
from tests.factories import make_user
from tests.sign_on.conftest import RETURN, Provider, leaving_to, sign_in

pytestmark = pytest.mark.django_db


def test_the_log_in_page_offers_it_only_where_it_is_configured(provider: Provider, settings: Any) -> None:
    assert "Log in with Example ID" in Client().get("/login/?next=/console/audit/").content.decode()
    settings.OIDC_ISSUER = ""
    assert "Example ID" not in Client().get("/login/").content.decode()
    assert "not configured" in Client().post("/login/sso/").content.decode()


def test_who_signs_in_for_the_first_time_becomes_a_user_and_gets_where_they_wanted_to_go(provider: Provider) -> None:
    provider.describe("id-1", preferred_username="ann", email="ann@example.org")
    client = Client()
    answer = sign_in(provider, "id-1", client, wanted="/console/audit/")
    assert (answer.status_code, answer["Location"]) == (302, "/console/audit/")
    user = User.objects.get(username="ann")
    assert user.email == "ann@example.org"
    assert not user.has_usable_password()
    assert not user.is_staff
    assert client.get("/login/").status_code == 302  # they are in
    assert 0 < client.session.get_expiry_age() <= 8 * 3600


def test_the_same_account_is_the_same_user_also_under_another_name(provider: Provider) -> None:
    provider.describe("id-2", preferred_username="bea")
    sign_in(provider, "id-2")
    provider.describe("id-2", preferred_username="beatrix", email="b@example.org")
    sign_in(provider, "id-2")
    assert [i.user.email for i in SignOnIdentity.objects.filter(subject="id-2")] == ["b@example.org"]
    assert not User.objects.filter(username="beatrix").exists()


def test_a_name_that_somebody_has_already_opens_nothing_until_an_administrator_links_the_two(
    provider: Provider,
) -> None:
    owner = make_user("root", is_superuser=True)
    provider.describe("id-3", preferred_username="root")
    answer = sign_in(provider, "id-3")
    assert answer.status_code == 403
    assert "There is a user &#x27;root&#x27; already" in answer.content.decode()
    SignOnIdentity.objects.create(user=owner, issuer=provider.issuer, subject="id-3")
    assert sign_in(provider, "id-3").status_code == 302


def test_groups_follow_the_provider_at_every_sign_in(provider: Provider) -> None:
    for name in ("analysts", "operators", "elsewhere"):
        Group.objects.create(name=name)
    provider.describe("id-4", preferred_username="dan", groups=["analysts", "operators", "unknown"])
    sign_in(provider, "id-4")
    user = User.objects.get(username="dan")
    assert set(user.groups.values_list("name", flat=True)) == {"analysts", "operators"}
    provider.describe("id-4", preferred_username="dan", groups=["operators"])
    sign_in(provider, "id-4")
    assert set(user.groups.values_list("name", flat=True)) == {"operators"}
    assert AuditEvent.objects.filter(actor="dan", target__contains="dan").exists()


def test_a_group_of_the_provider_gives_its_grants_and_permissions_until_the_person_leaves_it(
    provider: Provider,
) -> None:
    sales, platform = (Group.objects.create(name=name) for name in ("sales", "platform"))
    Grant.objects.create(group=sales, cluster="pinotadmin", tables="sales_*", right="operate")
    platform.permissions.add(Permission.objects.get(codename="administer"))

    def has(right: Right, table: str) -> bool:
        return has_right(User.objects.get(username="ida"), right, "pinotadmin", table)

    provider.describe("id-20", preferred_username="ida", groups=["sales"])
    sign_in(provider, "id-20")
    assert (has("operate", "sales_eu"), has("administer", "sales_eu"), has("operate", "flights")) == (
        True,
        False,
        False,
    )
    provider.describe("id-20", preferred_username="ida", groups=["platform"])
    sign_in(provider, "id-20")
    assert has("administer", "flights")
    provider.describe("id-20", preferred_username="ida", groups=[])
    sign_in(provider, "id-20")
    assert not has("operate", "sales_eu")


def test_groups_that_are_not_mapped_stay_as_an_administrator_gave_them(provider: Provider, settings: Any) -> None:
    settings.OIDC_GROUPS = "ou=data, team=analysts; ops=operators"
    given = {name: Group.objects.create(name=name) for name in ("analysts", "operators", "by hand")}
    provider.describe("id-5", preferred_username="eva", groups=["ou=data, team", "by hand"])
    sign_in(provider, "id-5")
    user = User.objects.get(username="eva")
    assert set(user.groups.all()) == {given["analysts"]}
    user.groups.add(given["by hand"], given["operators"])
    sign_in(provider, "id-5")
    assert set(user.groups.all()) == {given["analysts"], given["by hand"]}


def test_members_of_the_administrators_group_administer_until_they_leave_it(provider: Provider, settings: Any) -> None:
    settings.OIDC_ADMIN_GROUPS = frozenset({"platform"})
    provider.describe("id-6", preferred_username="fay", groups=["platform"])
    sign_in(provider, "id-6")
    assert User.objects.get(username="fay").is_superuser
    provider.describe("id-6", preferred_username="fay", groups=[])
    sign_in(provider, "id-6")
    user = User.objects.get(username="fay")
    assert (user.is_superuser, user.is_staff) == (False, False)


def test_who_is_in_none_of_the_required_groups_is_refused_and_no_user_is_made(
    provider: Provider, settings: Any
) -> None:
    settings.OIDC_REQUIRED_GROUPS = frozenset({"data"})
    provider.describe("id-7", preferred_username="gus", groups=["sales"])
    answer = sign_in(provider, "id-7")
    assert answer.status_code == 403
    assert "in none of the groups that may sign in here" in answer.content.decode()
    assert not User.objects.filter(username="gus").exists()


def test_a_deactivated_user_stays_out(provider: Provider) -> None:
    provider.describe("id-8", preferred_username="hal")
    sign_in(provider, "id-8")
    User.objects.filter(username="hal").update(is_active=False)
    answer = sign_in(provider, "id-8")
    assert answer.status_code == 403
    assert "deactivated" in answer.content.decode()


def test_an_answer_that_belongs_to_another_browser_or_another_attempt_signs_nobody_in(provider: Provider) -> None:
    client = Client()
    victim = provider.agree(leaving_to(client.post("/login/sso/")), "id-9")
    foreign = Client().get(victim)
    assert foreign.status_code == 401
    assert "was started in another browser" in foreign.content.decode()
    client.post("/login/sso/")
    assert "belongs to another sign-in" in client.get(victim).content.decode()
    assert not User.objects.exists()


def test_a_code_counts_once(provider: Provider) -> None:
    client = Client()
    back = provider.agree(leaving_to(client.post("/login/sso/")), "id-10")
    kept = client.cookies["pinotadmin_sign_on"].value
    assert client.get(back).status_code == 302
    client.logout()
    client.cookies["pinotadmin_sign_on"] = kept
    assert client.get(back).status_code == 401


def test_a_token_that_was_made_for_another_sign_in_does_not_count(provider: Provider) -> None:
    client = Client()
    leaving = urlsplit(leaving_to(client.post("/login/sso/")))
    asked = {name: values[0] for name, values in parse_qs(leaving.query).items()} | {"nonce": "of somebody else"}
    back = provider.agree(leaving._replace(query=urlencode(asked)).geturl(), "id-11")
    answer = client.get(back)
    assert answer.status_code == 401
    assert "its token does not count" in answer.content.decode()


def test_a_person_who_says_no_at_the_provider_reads_it_on_the_log_in_page(provider: Provider) -> None:
    client = Client()
    state = parse_qs(urlsplit(leaving_to(client.post("/login/sso/"))).query)["state"][0]
    answer = client.get(RETURN, {"state": state, "error": "access_denied"})
    assert answer.status_code == 401
    assert "access_denied" in answer.content.decode()


def test_a_provider_that_is_down_leaves_the_log_in_with_a_password(provider: Provider, settings: Any) -> None:
    settings.OIDC_ISSUER = "http://127.0.0.1:9"
    answer = Client().post("/login/sso/")
    assert answer.status_code == 503
    assert "does not answer as expected" in answer.content.decode()
    assert 'name="password"' in answer.content.decode()


def test_nobody_is_sent_to_another_site_afterwards(provider: Provider) -> None:
    provider.describe("id-12", preferred_username="ivy")
    assert sign_in(provider, "id-12", wanted="https://evil.example/")["Location"] == "/"


def test_foreign_pages_cannot_begin_a_sign_in(provider: Provider) -> None:
    assert Client(enforce_csrf_checks=True).post("/login/sso/").status_code == 403
    assert Client().get("/login/sso/").status_code == 405


def test_only_superusers_link_accounts_to_users(provider: Provider) -> None:
    staff = make_user("stan", is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(content_type__model="signonidentity"))
    owner = make_user("root", is_staff=True, is_superuser=True)
    link = {"user": owner.pk, "issuer": provider.issuer, "subject": "id-13"}
    of_staff, of_root = Client(), Client()
    of_staff.force_login(staff)
    of_root.force_login(owner)
    address = "/admin/segments/signonidentity/add/"
    assert of_staff.post(address, link).status_code == 403
    assert of_root.post(address, link).status_code == 302
    assert SignOnIdentity.objects.get().user == owner


def test_who_logs_out_is_logged_out_at_the_provider_too_and_comes_back(provider: Provider) -> None:
    provider.describe("id-20", preferred_username="lea")
    client = Client()
    sign_in(provider, "id-20", client)
    leaving = urlsplit(leaving_to(client.post("/logout/")))
    assert client.get("/console/audit/").status_code == 302, "the session is over here"
    given = parse_qs(leaving.query)
    assert leaving.path == "/oauth2/end_session"
    assert given["post_logout_redirect_uri"] == ["http://testserver/login/"]
    assert given["client_id"] == ["pinotadmin"]
    assert given["id_token_hint"][0].count(".") == 2
    page = requests.get(leaving.geturl(), timeout=10).text
    assert "http://testserver/login/?state=" in page


def test_who_logged_in_with_a_password_stays_here_when_logging_out(provider: Provider) -> None:
    client = Client()
    client.force_login(make_user("pia"))
    answer = client.post("/logout/")
    assert (answer.status_code, answer["Location"]) == (302, "/login/")


def test_who_logs_out_is_logged_out_here_though_the_provider_is_down(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.describe("id-21", preferred_username="lou")
    client = Client()
    sign_in(provider, "id-21", client)

    def silent(*_: object) -> str:
        raise Unavailable("It does not answer.")

    monkeypatch.setattr(IdentityProvider, "end", silent)
    answer = client.post("/logout/")
    assert (answer.status_code, answer["Location"]) == (302, "/login/")
    assert client.get("/console/audit/").status_code == 302
