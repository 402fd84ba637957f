"""/api/v1/clusters: the clusters that this installation drives; add, change, check and forget a real Pinot. Secrets go
in, never out.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param
from segments.api.bodies import ClusterBody, read_body
from segments.api.permissions import Right
from segments.domain.pinot.capabilities import all_lacking, parse_version
from segments.errors import NotFound
from segments.models import Cluster
from segments.services.access.rights import has_right_everywhere
from segments.services.clusters import clusters
from segments.services.clusters.cluster_spec import TEXTS
from segments.services.clusters.clusters import ClusterSpec
from segments.services.clusters.secret_protection import check_secret_use
from segments.services.core.page_addresses import address_of

#: What a change keeps where its body does not name it. Secrets are kept elsewhere.
_KEPT: Final = ("controller_urls", "tls_insecure", *TEXTS)


class _ClustersView(ApiView):
    """Reading is for all users; changes need ``administer`` for the whole installation: who says where a cluster is
    could read its data.
    """

    def needs(self, request: Request) -> tuple[Right | None, str | None]:
        """The right; that a grant for one cluster is not enough is checked on the way."""
        if request.method in ("GET", "HEAD", "OPTIONS"):
            return "read", None
        return ("administer" if has_right_everywhere(request.user, "administer") else None), None


class Clusters(_ClustersView):
    """All clusters; add a Pinot."""

    answers = {"GET": {200: "object"}, "POST": {201: "object"}}
    bodies = {"POST": ClusterBody}
    parameters = {"POST": ("check", "reason")}

    def get(self, request: Request) -> Response:
        """Each with its state, since when, its version, when it was mirrored last; the installation's own first."""
        return Response({"clusters": [cluster_json(row) for row in clusters.list_clusters()]})

    def post(self, request: Request) -> Response:
        """Add one: ``{"name", "controllerUrls": [...], "brokerUrl", "zookeeper", "auth": "basic", "authUser", "secret",
        ...}``.

        201; with check=true (the default) it is asked at once and the answer has what was found: that it does not
        answer refuses nothing.
        """
        spec = _spec(request, None)
        row = clusters.add_cluster(spec, self.actor)
        return Response(
            _checked(self, request, row), status=201, headers={"Location": address_of(f"/api/v1/clusters/{row.name}")}
        )


class OneCluster(_ClustersView):
    """One cluster by its name."""

    bodies = {"PUT": ClusterBody}
    parameters = {"PUT": ("check", "reason"), "DELETE": ("reason",)}

    def get(self, request: Request, name: str) -> Response:
        """As in the list, with what its version lacks and why."""
        row = _row(name)
        return Response({**cluster_json(row), "lacking": all_lacking(parse_version(row.version))})

    def put(self, request: Request, name: str) -> Response:
        """Change how it is reached. What the body leaves out stays as it is, the secret too."""
        row = clusters.change_cluster(_spec(request, _row(name)), self.actor)
        return Response(_checked(self, request, row))

    def delete(self, request: Request, name: str) -> Response:
        """Forget it here; Pinot itself is not touched. 403 for the installation's own."""
        clusters.remove_cluster(name, self.actor)
        return Response({"status": f"Cluster {name} is forgotten here; Pinot was not touched."})


class CheckCluster(_ClustersView):
    """Ask a cluster now."""

    def post(self, request: Request, name: str) -> Response:
        """Every question with its answer: reachable, credentials, certificate, version, ZooKeeper. 200 also when
        something is wrong.
        """
        return Response(clusters.check_cluster(name, self.actor).to_json())


def cluster_json(row: Cluster) -> dict[str, Any]:
    """A cluster without its secret. The installation's own has a name and a kind only."""
    if not row.has_connection:
        return {"name": row.name, "kind": row.kind}
    times = {
        "stateSince": row.state_since, "checkedAt": row.checked_at, "mirroredAt": row.mirrored_at,
        "mirrorErrorSince": row.mirror_error_since,
    }  # fmt: skip
    return {
        "name": row.name,
        "kind": row.kind,
        "controllerUrls": row.controller_urls,
        "brokerUrl": row.broker_url,
        "zookeeper": row.zookeeper,
        "zookeeperCluster": row.zookeeper_cluster or row.pinot_name,
        "zookeeperUser": row.zookeeper_user,
        "zookeeperSecretSource": row.zookeeper_source,
        "deepStoreUrl": row.deep_store_url,
        "auth": row.auth,
        "authUser": row.auth_user,
        "secretSource": row.auth_source,
        "tlsCa": row.tls_ca,
        "tlsCert": row.tls_cert,
        "tlsKey": row.tls_key,
        "tlsInsecure": row.tls_insecure,
        "pinotName": row.pinot_name,
        "state": row.state,
        "stateText": row.get_state_display(),
        "error": row.last_error,
        "version": row.version,
        "mirrorError": row.mirror_error,
        "callsPerMinute": row.calls_per_minute,
        **{key: at.isoformat() if at else None for key, at in times.items()},
    }


def _checked(view: ApiView, request: Request, row: Cluster) -> dict[str, Any]:
    found = clusters.check_cluster(row.name, view.actor).to_json() if bool_param(request, "check", True) else None
    row.refresh_from_db()
    return {**cluster_json(row), **({"check": found} if found else {})}


def _row(name: str) -> Cluster:
    row = Cluster.objects.filter(name=name).first()
    if row is None:
        raise NotFound(f"Cluster '{name}' does not exist.", remedy="List them with GET /api/v1/clusters.")
    return row


def _spec(request: Request, row: Cluster | None) -> ClusterSpec:
    """What the body asks for; of a cluster that is there, its name and what the body leaves out are those of its
    ``row``.
    """
    given = {k: v for k, v in msgspec.structs.asdict(read_body(request, ClusterBody)).items() if v is not None}
    stored = {name: getattr(row, name) for name in _KEPT} if row else {"name": "", "controller_urls": ()}
    wanted = stored | given | ({"name": row.name} if row else {})
    spec = ClusterSpec(**{**wanted, "controller_urls": tuple(wanted["controller_urls"])})
    check_secret_use(request.user, spec, row)
    return spec
