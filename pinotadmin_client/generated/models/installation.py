"""Models of installation.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field


class Cluster(Struct, frozen=True, kw_only=True):
    """A cluster; of the embedded one only name and kind. ``state`` is of a Pinot, ``error`` why it is not up. Secrets
    are in no answer. Times are ISO 8601 in UTC."""

    name: str
    kind: Literal["embedded", "pinot"]
    controller_urls: list[str] = field(default_factory=list, name="controllerUrls")
    broker_url: str = field(default="", name="brokerUrl")
    zookeeper: str = field(default="")
    zookeeper_cluster: str = field(default="", name="zookeeperCluster")
    zookeeper_user: str = field(default="", name="zookeeperUser")
    zookeeper_secret_source: str = field(default="", name="zookeeperSecretSource")
    deep_store_url: str = field(default="", name="deepStoreUrl")
    auth: str = field(default="")
    auth_user: str = field(default="", name="authUser")
    secret_source: str = field(default="", name="secretSource")
    tls_ca: str = field(default="", name="tlsCa")
    tls_cert: str = field(default="", name="tlsCert")
    tls_key: str = field(default="", name="tlsKey")
    tls_insecure: bool = field(default=False, name="tlsInsecure")
    pinot_name: str = field(default="", name="pinotName")
    state: str = field(default="")
    state_text: str = field(default="", name="stateText")
    error: str = field(default="")
    version: str = field(default="")
    mirror_error: str = field(default="", name="mirrorError")
    calls_per_minute: int = field(default=0, name="callsPerMinute")
    state_since: str | None = field(default=None, name="stateSince")
    checked_at: str | None = field(default=None, name="checkedAt")
    mirrored_at: str | None = field(default=None, name="mirroredAt")
    mirror_error_since: str | None = field(default=None, name="mirrorErrorSince")


class Clusters(Struct, frozen=True, kw_only=True):
    """The clusters that this installation drives."""

    clusters: list[Cluster]


class DrainEnded(Struct, frozen=True, kw_only=True):
    """A server that has its tags back, and tables whose rebalance was stopped."""

    instance: str
    stopped_rebalances: list[str] = field(name="stoppedRebalances")


class DrainState(Struct, frozen=True, kw_only=True):
    """How far a server is from empty. ``refusals``: by table, what is in the way before it begins; ``problems``: after.
    What follows ``refusals`` is of a server that is drained, or was. Times are epoch ms, 0: not yet."""

    instance: str
    state: str
    percent: int
    segments_left: int = field(name="segmentsLeft")
    tables: dict[str, HeldTable]
    refusals: dict[str, str]
    tags: list[str] = field(default_factory=list)
    rebalances: dict[str, str] = field(default={})
    problems: dict[str, str] = field(default={})
    actor: str = field(default="")
    reason: str = field(default="")
    started_ms: int = field(default=0, name="startedMs")
    finished_ms: int = field(default=0, name="finishedMs")


class HeldTable(Struct, frozen=True, kw_only=True):
    """What a server has of a table: replicas, those of them that consume, those that are switched off."""

    segments: int
    consuming: int
    switched_off: int = field(name="switchedOff")


class Instances(Struct, frozen=True, kw_only=True):
    """Names of servers and brokers."""

    instances: list[str]


class NewToken(Struct, frozen=True, kw_only=True):
    """A token that was created: ``token`` is what is sent, and is shown here only."""

    id: int
    name: str
    owner: str
    scopes: list[str]
    cluster: str
    tables: str
    state: str
    created: str
    expires: str
    last_used: str | None = field(name="lastUsed")
    last_used_from: str | None = field(name="lastUsedFrom")
    revoked: str | None
    revoked_by: str | None = field(name="revokedBy")
    token: str = field(default="")


class Token(Struct, frozen=True, kw_only=True):
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
    last_used: str | None = field(name="lastUsed")
    last_used_from: str | None = field(name="lastUsedFrom")
    revoked: str | None
    revoked_by: str | None = field(name="revokedBy")


class TokenRevoked(Struct, frozen=True, kw_only=True):
    """What was done, and the ids of all tokens that are revoked now."""

    status: str
    revoked: list[int]


class Tokens(Struct, frozen=True, kw_only=True):
    """API tokens, newest first."""

    tokens: list[Token]
