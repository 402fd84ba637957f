"""A pytest plug-in for the black-box suite against a Pinot 0.11.0 without us in between: adds what that version asks of
REALTIME tables.

0.11.0 wants the number of replicas of a REALTIME table as ``replicasPerPartition``; newer ones, which the suite is made
for, take ``replication`` for both kinds. Our own control plane adds it automatically.
"""

from __future__ import annotations

from typing import Any

import requests

_plain = requests.Session.request


def _request(
    self: requests.Session, method: str | bytes, url: str | bytes, *args: Any, **options: Any
) -> requests.Response:
    body = options.get("json")
    if isinstance(body, dict) and body.get("tableType") == "REALTIME":
        config = body.get("segmentsConfig", {})
        options["json"] = {**body, "segmentsConfig": {**config, "replicasPerPartition": config.get("replication", "1")}}
    return _plain(self, method, url, *args, **options)


requests.Session.request = _request  # type: ignore[method-assign]
