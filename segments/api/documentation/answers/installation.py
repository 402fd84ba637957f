"""Answers about instances, their drains, clusters and API tokens."""

from __future__ import annotations

from typing import Literal

import msgspec

from segments.api.documentation.answers.replacement import Answer


class Instances(Answer):
    """Names of servers and brokers."""

    instances: list[str]


class HeldTable(Answer):
    """What a server has of a table: replicas, those of them that consume, those that are switched off."""

    segments: int
    consuming: int
    switched_off: int


class DrainState(Answer):
    """How far a server is from empty. ``refusals``: by table, what is in the way before it begins; ``problems``: after.
    What follows ``refusals`` is of a server that is drained, or was. Times are epoch ms, 0: not yet.
    """

    instance: str
    state: str
    percent: int
    segments_left: int
    tables: dict[str, HeldTable]
    refusals: dict[str, str]
    tags: list[str] = msgspec.field(default_factory=list)
    rebalances: dict[str, str] = msgspec.field(default_factory=dict)
    problems: dict[str, str] = msgspec.field(default_factory=dict)
    actor: str = ""
    reason: str = ""
    started_ms: int = 0
    finished_ms: int = 0


class DrainEnded(Answer):
    """A server that has its tags back, and tables whose rebalance was stopped."""

    instance: str
    stopped_rebalances: list[str]


class Cluster(Answer):
    """A cluster; of the embedded one only name and kind. ``state`` is of a Pinot, ``error`` why it is not up. Secrets
    are in no answer. Times are ISO 8601 in UTC.
    """

    name: str
    kind: Literal["embedded", "pinot"]
    controller_urls: list[str] = msgspec.field(default_factory=list)
    broker_url: str = ""
    zookeeper: str = ""
    zookeeper_cluster: str = ""
    zookeeper_user: str = ""
    zookeeper_secret_source: str = ""
    deep_store_url: str = ""
    auth: str = ""
    auth_user: str = ""
    secret_source: str = ""
    tls_ca: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    tls_insecure: bool = False
    pinot_name: str = ""
    state: str = ""
    state_text: str = ""
    error: str = ""
    version: str = ""
    mirror_error: str = ""
    calls_per_minute: int = 0
    state_since: str | None = None
    checked_at: str | None = None
    mirrored_at: str | None = None
    mirror_error_since: str | None = None


class Clusters(Answer):
    """The clusters that this installation drives."""

    clusters: list[Cluster]


class Token(Answer):
    """An API token without its secret. ``tables`` is a pattern; times are ISO 8601 in UTC."""

    id: int
    name: str
    owner: str
    scopes: list[str]
    cluster: str
    tables: str
    state: str
    created: str
    expires: str
    last_used: str | None
    last_used_from: str | None
    revoked: str | None
    revoked_by: str | None


class NewToken(Token):
    """A token that was created: ``token`` is what is sent, and is shown here only."""

    token: str = ""


class Tokens(Answer):
    """API tokens, newest first."""

    tokens: list[Token]


class TokenRevoked(Answer):
    """What was done, and the ids of all tokens that are revoked now."""

    status: str
    revoked: list[int]
