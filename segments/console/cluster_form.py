"""How a Pinot cluster is reached, as people type it. What is secret goes in and never comes out again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django import forms

from segments.console.forms import EXACT, PlainForm, reason_field
from segments.models import Cluster
from segments.services.clusters.cluster_spec import TEXTS
from segments.services.clusters.clusters import ClusterSpec


class ClusterForm(PlainForm):
    """A ``ClusterSpec``; ``row`` is the cluster that is changed, None for a new one."""

    name = forms.SlugField(
        max_length=64,
        label="Name",
        help_text="As it appears in addresses: letters, digits, - and _.",
        widget=forms.TextInput(attrs=EXACT),
    )
    controller_urls = forms.CharField(
        label="Controller addresses", help_text="One per line, tried in turn, for example https://controller:9000.",
        widget=forms.Textarea(attrs={**EXACT, "rows": 2, "class": "code"}),
    )  # fmt: skip
    auth = forms.ChoiceField(label="Credentials", required=False, choices=Cluster.Auth.choices)
    auth_user = forms.CharField(
        required=False,
        max_length=150,
        label="User",
        help_text="For Basic.",
        widget=forms.TextInput(attrs=EXACT),
    )
    secret = forms.CharField(
        required=False, strip=False, max_length=4000, label="Password or token",
        widget=forms.PasswordInput(render_value=False, attrs={"autocomplete": "new-password"}),
    )  # fmt: skip
    secret_source = forms.CharField(
        required=False, max_length=512, label="Or where it is", widget=forms.TextInput(attrs=EXACT),
        help_text="env:NAME or file:PATH as the web, worker and mirror processes see it. Only superusers may name one.",
    )  # fmt: skip
    broker_url = forms.CharField(
        required=False,
        max_length=255,
        label="Broker address",
        help_text="Queries go there; empty: through the controller.",
        widget=forms.TextInput(attrs=EXACT),
    )
    zookeeper = forms.CharField(
        required=False, max_length=255, label="ZooKeeper",
        help_text="host:port,host:port; tls:// before it for TLS; read only. Empty: read over REST.",
        widget=forms.TextInput(attrs=EXACT),
    )  # fmt: skip
    zookeeper_cluster = forms.CharField(
        required=False,
        max_length=255,
        label="The cluster's path in ZooKeeper",
        help_text="Empty: as the controller names it.",
        widget=forms.TextInput(attrs=EXACT),
    )
    zookeeper_user = forms.CharField(
        required=False, max_length=150, label="User for ZooKeeper",
        help_text="Of a digest login, if its nodes ask for one; sasl:USER for SASL (DIGEST-MD5).",
        widget=forms.TextInput(attrs=EXACT),
    )  # fmt: skip
    zookeeper_secret = forms.CharField(
        required=False,
        strip=False,
        max_length=4000,
        label="Password for ZooKeeper",
        help_text="Empty: the one that is stored stays.",
        widget=forms.PasswordInput(render_value=False, attrs={"autocomplete": "new-password"}),
    )
    deep_store_url = forms.CharField(
        required=False,
        max_length=512,
        label="Deep store for pushes",
        widget=forms.TextInput(attrs=EXACT),
        help_text="Where built segments may be put so that Pinot's servers can fetch them; empty: each is uploaded "
        "through the controller.",
    )
    tls_ca = forms.CharField(
        required=False,
        max_length=512,
        label="File of certificate authorities",
        widget=forms.TextInput(attrs=EXACT),
    )
    tls_cert = forms.CharField(
        required=False, max_length=512, label="File of our certificate", widget=forms.TextInput(attrs=EXACT)
    )
    tls_key = forms.CharField(
        required=False, max_length=512, label="File of its key", widget=forms.TextInput(attrs=EXACT)
    )
    tls_insecure = forms.BooleanField(
        required=False, label="Do not check certificates (anybody in between can read the credentials)"
    )
    reason = reason_field("Goes into the audit record.")
    #: Fields of secrets that were typed in the try before, and are not sent back to the browser.
    retype = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: Mapping[str, Any] | None = None, *, row: Cluster | None = None) -> None:
        super().__init__(data, initial={} if row is None else _stored(row))
        self.row = row
        if row is None:
            return
        del self.fields["name"]
        kept = {"stored": "One is stored; it stays unless you type another.", "": ""}
        self.fields["secret"].help_text = kept.get(row.auth_source, "It is taken from the place named below.")

    def clean(self) -> dict[str, Any]:
        """A secret that was typed before and is missing now would silently be the one that is kept."""
        given = super().clean() or {}
        for name in set(str(given.get("retype") or "").split()).intersection(_SECRETS):
            user, source, column = _SECRETS[name]
            if given.get(user) and not given.get(name) and ":" not in str(given.get(source) or ""):
                kept = (
                    " To keep the stored one, open this page again."
                    if self.row is not None and getattr(self.row, column)
                    else ""
                )
                self.add_error(name, f"Type it again: what you typed before was not kept.{kept}")
        return given

    def to_show_again(self) -> ClusterForm:
        """The form as it is shown after a try: everything typed is still there, but for secrets."""
        typed = {name for name in _SECRETS if self.data.get(name)} | set(str(self.data.get("retype") or "").split())
        if typed:
            given = self.data.dict() if hasattr(self.data, "dict") else dict(self.data)
            self.data = {**given, "retype": " ".join(sorted(typed))}
            for name in typed.intersection(_SECRETS) - set(self.errors):
                self[name].help_text = "Type it again: it is never sent back to the browser."
        return self

    @property
    def main(self) -> list[forms.BoundField]:
        """What every cluster needs."""
        return [self[name] for name in self.fields if name not in (*_MORE, "reason", "retype")]

    @property
    def more(self) -> list[forms.BoundField]:
        """What some need."""
        return [self[name] for name in _MORE]

    @property
    def is_more_open(self) -> bool:
        """Is any of those filled in, or wrong?"""
        return any(self[name].value() or self[name].errors for name in _MORE)

    def spec(self) -> ClusterSpec:
        """What was typed."""
        given = self.cleaned_data
        return ClusterSpec(
            name=self.row.name if self.row else given["name"],
            controller_urls=tuple(str(given["controller_urls"]).split()),
            secret=given["secret"],
            secret_source=str(given["secret_source"]).strip(),
            zookeeper_secret=given["zookeeper_secret"],
            tls_insecure=given["tls_insecure"],
            **{n: str(given[n]).strip() for n in TEXTS},
        )


_MORE: Final = (
    "broker_url",
    "zookeeper",
    "zookeeper_cluster",
    "zookeeper_user",
    "zookeeper_secret",
    "deep_store_url",
    "tls_ca",
    "tls_cert",
    "tls_key",
    "tls_insecure",
)
#: {field of a secret: (field without which it is not needed, field of its place, column of its place)}.
_SECRETS: Final = {
    "secret": ("auth", "secret_source", "auth_source"), "zookeeper_secret": ("zookeeper_user", "", "zookeeper_source"),
}  # fmt: skip


def _stored(row: Cluster) -> dict[str, Any]:
    """What the form begins with; where the secret is may be seen, never the secret."""
    source = row.auth_source if ":" in row.auth_source else ""
    own = {"controller_urls": "\n".join(row.controller_urls), "secret_source": source, "tls_insecure": row.tls_insecure}
    return own | {name: getattr(row, name) for name in TEXTS}
