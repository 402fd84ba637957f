"""Clusters as people handle them: add, change, check, list and remove. Removing forgets ours; Pinot itself is never
touched.
"""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from segments.errors import Forbidden, NotFound, StateConflict
from segments.models import Cluster, ConfigVersion, Finding, PassRun
from segments.services.clusters import cluster_secrets
from segments.services.clusters.cluster_check import CheckStep, ClusterCheck
from segments.services.clusters.cluster_spec import CONFIGURED, ClusterSpec, row_values
from segments.services.clusters.cluster_state import note_state
from segments.services.clusters.installation import installation
from segments.services.core import audit
from segments.services.core.context import Actor
from segments.store import paths

__all__ = [
    "CheckStep",
    "ClusterCheck",
    "ClusterSpec",
    "add_cluster",
    "change_cluster",
    "check_cluster",
    "list_clusters",
    "note_check",
    "remove_cluster",
    "try_cluster",
]


def add_cluster(spec: ClusterSpec, actor: Actor) -> Cluster:
    """Add a Pinot cluster. InvalidInput for values that cannot be, StateConflict when the name is taken. Asks nobody:
    check it then.
    """
    values = row_values(spec)
    require_free_name(spec.name)
    try:
        with transaction.atomic():
            row = Cluster.objects.create(name=spec.name, configured_at=timezone.now(), **values)
            _keep_secrets(spec, values)  # after the name is ours, and before anybody sees the row
    except IntegrityError as error:
        raise StateConflict(
            f"There is a cluster '{spec.name}' already.", remedy="Choose another name.", field="name"
        ) from error
    audit.record(actor, "addCluster", cluster=spec.name, target=spec.name, **_shown(row))
    return row


def require_free_name(name: str) -> None:
    """StateConflict when there is a cluster of that name, in whatever case."""
    if Cluster.objects.filter(name__iexact=name).exists() or name.lower() == installation().own_name.lower():
        raise StateConflict(
            f"There is a cluster '{name}' already.", remedy="Choose another name, or change that one.", field="name"
        )


def change_cluster(spec: ClusterSpec, actor: Actor) -> Cluster:
    """Change how a Pinot cluster is reached; connections are made again within seconds. NotFound, InvalidInput.

    It stays the same Pinot cluster: a controller of another one is refused when it is asked. Remove the row and add it
    again for that.
    """
    row = _pinot_row(spec.name)
    before = _shown(row)
    values = row_values(spec, row.auth_source, row.zookeeper_source)
    _keep_secrets(spec, values)
    for name, value in values.items():
        setattr(row, name, value)
    row.configured_at = timezone.now()
    row.save(update_fields=[*values, "configured_at"])
    after = _shown(row)
    changed = {name: value for name, value in after.items() if before[name] != value}
    audit.record(
        actor,
        "changeCluster",
        cluster=row.name,
        target=row.name,
        **changed,
        secret_changed=bool(spec.secret or spec.zookeeper_secret),
    )
    return row


def try_cluster(spec: ClusterSpec) -> ClusterCheck:
    """Ask a cluster as it would be after this was added or changed; nothing is written. InvalidInput, StateConflict as
    for adding, and Forbidden as for changing. Never raises for what it finds.
    """
    row, data_dir = Cluster.objects.filter(name=spec.name).first(), installation().data_dir
    if row is not None:
        _pinot_row(spec.name)
    values = row_values(spec, row.auth_source if row else "", row.zookeeper_source if row else "")
    tried = Cluster(name=spec.name, pinot_name=row.pinot_name if row else "", **values)
    return installation().check(tried, data_dir, {part: secret for part, secret, _ in _secrets(spec)})


def note_check(name: str, found: ClusterCheck, actor: Actor) -> None:
    """Write down what a try found, after the cluster was saved as it was tried. NotFound."""
    row = _pinot_row(name)
    _write_check(row, found)
    audit.record(actor, "checkCluster", cluster=name, target=name, state=found.state, version=found.version)


def check_cluster(name: str, actor: Actor | None = None) -> ClusterCheck:
    """Ask the cluster: controller reachable, credentials, certificate, version, the cluster we know, ZooKeeper the
    same? Writes the row's state. NotFound; never raises for what it finds.
    """
    row = _pinot_row(name)
    found = installation().check(row, installation().data_dir, None)
    _write_check(row, found)
    if actor is not None:
        audit.record(actor, "checkCluster", cluster=name, target=name, state=found.state, version=found.version)
    return found


def _write_check(row: Cluster, found: ClusterCheck) -> None:
    """State, version and the name that was learnt, into the row."""
    learnt = "" if row.pinot_name else found.named
    note_state(row.name, found.state, found.error, version=found.version, pinot_name=learnt)


def list_clusters() -> list[Cluster]:
    """All clusters, the installation's own first."""
    own, _ = Cluster.objects.get_or_create(name=installation().own_name, defaults={"kind": Cluster.Kind.EMBEDDED})
    return [own, *Cluster.objects.filter(kind=Cluster.Kind.PINOT).exclude(pk=own.pk).order_by("name")]


def remove_cluster(name: str, actor: Actor) -> None:
    """Forget a Pinot cluster: row, mirror, secret, what we keep of it in our own ZooKeeper. Pinot is not touched.
    NotFound; Forbidden for the embedded cluster. What was audited and pushed stays on record.
    """
    row, parts = _pinot_row(name), installation()
    parts.own_store().delete_tree(paths.cluster_root(name))
    row.delete()
    Finding.objects.filter(cluster=name).delete()
    PassRun.objects.filter(cluster=name).delete()
    ConfigVersion.objects.filter(cluster=name).delete()
    for part in (cluster_secrets.CONTROLLER, cluster_secrets.ZOOKEEPER):
        cluster_secrets.forget_secret(parts.data_dir, name + part)
    audit.record(actor, "removeCluster", cluster=name, target=name)


def _secrets(spec: ClusterSpec) -> tuple[tuple[str, str, str], ...]:
    """(whose, what was given, the column that names where it is)."""
    return (
        (cluster_secrets.CONTROLLER, spec.secret, "auth_source"),
        (cluster_secrets.ZOOKEEPER, spec.zookeeper_secret, "zookeeper_source"),
    )  # fmt: skip


def _keep_secrets(spec: ClusterSpec, values: dict[str, Any]) -> None:
    """Those that were given; those that are not kept by us any more are forgotten."""
    data_dir = installation().data_dir
    for part, secret, source in _secrets(spec):
        if secret:
            cluster_secrets.store_secret(data_dir, spec.name + part, secret)
        elif values[source] != cluster_secrets.STORED:
            cluster_secrets.forget_secret(data_dir, spec.name + part)


def _pinot_row(name: str) -> Cluster:
    row = Cluster.objects.filter(name=name).first()
    if name == installation().own_name or (row is not None and not row.has_connection):
        raise Forbidden(
            f"'{name}' is the installation's own cluster.",
            remedy="Only clusters of kind pinot are added, changed and removed.",
        )
    if row is None:
        raise NotFound(f"Cluster '{name}' does not exist.", remedy="See 'cluster list'.")
    return row


def _shown(row: Cluster) -> dict[str, Any]:
    """What the audit record may hold: where the secret is, never what it is."""
    return {name: getattr(row, name) for name in CONFIGURED if name != "configured_at"}
