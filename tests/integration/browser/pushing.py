"""A push of one CSV file, as a script of somebody's makes it."""

from __future__ import annotations

from tests.integration.running import Client, Installation
from tests.waiting import poll


def push(
    installation: Installation, client: Client, table: str, name: str, rows: int, *, reason: str = "", wait: bool = True
) -> str:
    """Push a CSV file of so many rows through the REST API; returns the push's id."""
    folder = installation.folder / "input" / table / name
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("v,n,day\n" + "".join(f"{name},{i},19000\n" for i in range(rows)))
    spec = {
        "jobType": "SegmentCreationAndMetadataPush",
        "inputDirURI": folder.as_uri(),
        "includeFileNamePattern": "glob:**/*.csv",
        "recordReaderSpec": {"dataFormat": "csv"},
        "tableSpec": {"tableName": table},
    }
    made: str = client.call(
        "POST", "/api/v1/pushes", status=201, json={"spec": spec, "reason": reason or f"snapshot {name}"}
    ).json()["id"]
    if wait:
        poll(lambda: client.call("GET", f"/api/v1/pushes/{made}").json()["state"] == "DONE", 60, f"push {made} is DONE")
    return made
