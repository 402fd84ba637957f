"""Sessions whose input and deep store are in a Google Cloud Storage; run with other stores where there is a fixture
``cloud``.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from segments.domain.access.outgoing import Kind, Rules
from segments.domain.ingestion.session import FileState, SessionState
from segments.gateways.deep_store.access import StoreAccess
from segments.gateways.deep_store.deepstore import INGESTION, STAGING, DeepStore
from segments.gateways.input_files.rules import InputRules
from segments.services.ingestion import sessions
from segments.services.ingestion.situation import list_input, read_setup
from segments.services.ingestion.undo import undo_session
from tests.ingestion.ingesting import SYNC, IngestionWorld
from tests.input_files.gcs_server import BUCKET, GcsServer
from tests.s3_server import until_next_second
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Cloud:
    """A store for tests: ``folder`` of input and ``login`` to it, ``put`` (key, bytes) writes there, ``deep`` is a deep
    store in it.
    """

    folder: str
    login: dict[str, str]
    put: Callable[[str, bytes], None]
    deep: DeepStore
    #: Does the store say which bytes a file has? An HDFS does not, nor the server that Azure has for tests.
    marks_bytes: bool = True


@pytest.fixture
def cloud(gcs: GcsServer) -> Cloud:
    name = uuid.uuid4().hex
    return Cloud(
        f"gs://{BUCKET}/{name}/in",
        {"className": "org.apache.pinot.plugin.filesystem.GcsPinotFS", "endpoint": gcs.url, "anonymous": "true"},
        lambda key, data: gcs.put(f"{BUCKET}/{name}/in/{key}", data),
        DeepStore(f"gs://anonymous@{BUCKET}/{name}/deep", access=StoreAccess(gcs.url)),
    )


class CloudWorld(IngestionWorld):
    """Its folder and its deep store are in the cloud, by a login that the administrator keeps."""

    def __init__(self, folder: Path, cloud: Cloud) -> None:
        self.cloud = cloud
        logins = folder / "logins.json"
        folder.mkdir(exist_ok=True)
        logins.write_text(json.dumps({"lake": {"roots": [cloud.folder], **cloud.login}}))
        keys = {
            "inputDirURI": cloud.folder,
            "includeFileNamePattern": "glob:**/*.csv",
            "input.fs.className": cloud.login["className"],
            "input.fs.prop.login": "lake",
        }
        super().__init__(folder, SYNC | keys)
        rules = InputRules((), Rules(Kind.STORE), str(logins))
        self.ctx = replace(self.ctx, inputs=rules, deep_store=cloud.deep)

    def store_file(self, name: str, rows: int, *, bad: bool = False) -> None:
        lines = ["x,none,17000"] if bad else [f"{name},{n},17000" for n in range(rows)]
        self.cloud.put(f"deep down/{name}.csv", "\n".join(["city,n,day", *lines]).encode())

    @property
    def found(self) -> dict[str, FileState]:
        """Of the newest session's files by name."""
        return {Path(f.uri).stem: f.state for f in sessions.files_of(self.ctx, self.session)}


@pytest.fixture
def world(tmp_path: Path, cloud: Cloud) -> CloudWorld:
    return CloudWorld(tmp_path / "world", cloud)


def test_a_session_reads_stages_and_switches_and_a_failed_file_is_retried_alone(world: CloudWorld) -> None:
    world.store_file("F1", 10)
    world.store_file("F2", 20, bad=True)
    world.cloud.put("notes.txt", b"not to be read")
    world.go()
    assert world.found == {"F1": FileState.BUILT, "F2": FileState.FAILED}
    assert (world.session.state, world.vis) == (SessionState.IN_PROGRESS, 0)
    assert len(list(world.cloud.deep.files(f"{STAGING}/{world.session.id}"))) == 2, "a tar and its note"
    world.store_file("F2", 20)
    before = world.read
    world.go()
    assert (world.session.state, world.session.retry_count, world.vis) == (SessionState.DONE, 1, 30)
    assert world.read - before == 1
    assert list(world.cloud.deep.files(f"{STAGING}/{world.session.id}")) == []
    assert world.cloud.deep.folders(INGESTION) != []


def test_changes_of_files_are_followed_and_a_session_is_undone(world: CloudWorld) -> None:
    world.store_file("F1", 10)
    world.store_file("F2", 20)
    world.go()
    assert world.vis == 30
    assert world.go().session_id is None, "nothing changed"
    world.store_file("F2", 25)
    world.go()
    assert world.vis == 35
    undo_session(world.ctx, TABLE, world.session.id, actor=ANN)
    assert world.vis == 30


def test_a_file_stored_again_with_the_same_bytes_is_not_read_again_if_the_store_marks_them(world: CloudWorld) -> None:
    world.store_file("F1", 10)
    world.go()
    (before,) = list_input(world.ctx, TABLE, read_setup(world.ctx, TABLE).task)
    until_next_second()
    world.store_file("F1", 10)
    (after,) = list_input(world.ctx, TABLE, read_setup(world.ctx, TABLE).task)
    assert after.mtime_ns > before.mtime_ns
    why = world.go().why
    assert why == ("Nothing changed in the input folder." if world.cloud.marks_bytes else "")
    assert world.read == (1 if world.cloud.marks_bytes else 2)
    assert world.vis == 10
