"""What people may do beyond Django's own permissions: grants by table, and API tokens."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Grant(models.Model):
    """A right for some tables of some cluster, given to a user or a group. ``segments.services.access.rights`` says
    what it allows.
    """

    class Right(models.TextChoices):
        READ = "read", "read and query (counts when reading is restricted)"
        OPERATE = "operate", "operate: push, end, revert, pause, run passes"
        ADMINISTER = "administer", "administer: also create, change and delete"

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="grants"
    )
    group = models.ForeignKey("auth.Group", on_delete=models.CASCADE, null=True, blank=True, related_name="grants")
    cluster = models.CharField(max_length=64, default="*", help_text="Name of a cluster; * means all of them")
    tables = models.CharField(
        "tables",
        max_length=255,
        help_text="Pattern of raw or typed names, such as sales_*; * alone is the whole cluster, instances included",
    )
    right = models.CharField(max_length=16, choices=Right, default=Right.OPERATE)

    class Meta:
        ordering = ["cluster", "tables", "id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(user__isnull=True) ^ models.Q(group__isnull=True),
                name="segments_grant_to_user_or_group",
            ),
        ]

    def __str__(self) -> str:
        return (
            f"{self.user or self.group}: {self.right} {self.tables} of "
            f"{'every cluster' if self.cluster == '*' else self.cluster}"
        )


class ApiToken(models.Model):
    """A named token with which programs act for its owner, within its scope. The token itself is kept nowhere, only its
    SHA-256.

    ``segments.services.access.api_tokens`` makes, checks and revokes them; rows stay for the record.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=60)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(
        default=list, help_text="Of read, query, operate, administer; the last two include those before, but query"
    )
    cluster = models.CharField(max_length=64, default="*", help_text="Name of a cluster; * means all of them")
    tables = models.CharField(max_length=255, default="*", help_text="Pattern of raw or typed names; * is everything")
    made_with = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="made", help_text="Revoked with it"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="To the minute")
    last_used_from = models.CharField(max_length=64, blank=True, default="")
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_by = models.CharField(max_length=150, blank=True, default="")

    class Meta:
        ordering = ["-created_at", "-id"]
        verbose_name = "API token"

    def __str__(self) -> str:
        return f"{self.owner} (token {self.name})"


class SignOnIdentity(models.Model):
    """Whom an identity provider means by ``subject``: the link between its account and a user here. Names change and
    are given again, subjects are not.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="identities")
    issuer = models.CharField(max_length=255, help_text="Address of the identity provider, as its document has it")
    subject = models.CharField(max_length=255, help_text="The provider's own identifier of the account ('sub')")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "sign-on identities"
        constraints = [models.UniqueConstraint(fields=["issuer", "subject"], name="segments_sign_on_identity")]

    def __str__(self) -> str:
        return f"{self.user}: {self.subject} at {self.issuer}"


class PersonSetting(models.Model):
    """Something that a person chose for the console: a time zone, the columns of a list, a saved view of one.

    ``segments.services.preferences`` says which there are.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="console_settings")
    key = models.CharField(max_length=120)
    value = models.JSONField()

    class Meta:
        ordering = ["user", "key"]
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="segments_person_setting_once")]

    def __str__(self) -> str:
        return f"{self.user}: {self.key}"


class TourMark(models.Model):
    """A step of the tour on the start page that somebody has done, or that they dismissed it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tour_marks")
    mark = models.CharField(max_length=32)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["user", "at", "id"]
        constraints = [models.UniqueConstraint(fields=["user", "mark"], name="segments_tour_mark_once")]

    def __str__(self) -> str:
        return f"{self.user}: {self.mark}"
