"""A data directory is its owner's alone, also one that was open before, and knows its database from another."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from segments.errors import InvalidInput
from segments.processes.child_run import Command
from segments.processes.logs import LogFile
from segments.processes.machine.database_file import DatabaseFile
from segments.processes.machine.private_folder import DATABASE, make_private
from tests.processes.test_plan import make_plan


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_what_an_earlier_installation_left_open_is_closed(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    names = (
        *(
            "secrets.json",
            "db.sqlite3",
            "db.sqlite3-wal",
            "db.sqlite3-shm",
            "clusters.json",
            "logs/web.log",
            "run/java-home/bin/java",
        ),
        *(
            "zookeeper/zoo.cfg",
            "zookeeper/data/version-2/log.1",
            "redis/redis.conf",
            "redis/appendonlydir/a.aof",
            "servers/x/table",
        ),
    )
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("secret")
    (folder / "deepstore").symlink_to(elsewhere)
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o777 if path.is_dir() or path.name == "java" else 0o666)
    make_private(folder)
    assert mode(folder) == 0o700
    for name in names[:-1]:
        assert mode(folder / name) == (0o700 if name.endswith("java") else 0o600), name
        assert mode((folder / name).parent) == 0o700, name
    assert mode(folder / "servers") == 0o700
    assert mode(elsewhere) == 0o755, "a place that a person chose is theirs"
    assert (folder / "db.sqlite3").read_text() == "secret"


def test_a_new_one_is_private_from_the_beginning_with_its_database_and_logs(tmp_path: Path) -> None:
    make_private(tmp_path / "new")
    LogFile(tmp_path / "new" / "web.log").close()
    assert mode(tmp_path / "new") == 0o700
    assert mode(tmp_path / "new" / "db.sqlite3") == mode(tmp_path / "new" / "web.log") == 0o600


def test_a_folder_that_everybody_shares_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    with pytest.raises(InvalidInput, match="everybody shares"):
        make_private(tmp_path)
    assert mode(tmp_path) == 0o1777
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_somebody_else_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secrets.json").touch()
    (tmp_path / "secrets.json").chmod(0o644)

    def refuse(path: Path, mode: int) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(Path, "chmod", refuse)
    with pytest.raises(InvalidInput, match=r"belongs to another user") as refused:
        make_private(tmp_path)
    assert "chown" in (refused.value.remedy or "")


def test_zookeeper_and_redis_write_private_files(tmp_path: Path) -> None:
    specs = {spec.name: spec for spec in make_plan(tmp_path).specs}
    assert specs["zookeeper"].command.umask == specs["redis"].command.umask == 0o077
    assert specs["worker"].command.umask == Command.umask == -1, "segments may go to a deep store that others read"


def test_a_file_that_was_replaced_counts_as_lost_and_keeps_what_it_brings(tmp_path: Path) -> None:
    file, path = DatabaseFile(tmp_path), tmp_path / DATABASE
    path.write_text("old")
    file.remember()
    path.write_text("written to")
    assert not file.is_lost()
    (tmp_path / "new").write_text("another")
    (tmp_path / "new").rename(path)
    assert file.is_lost()
    file.start_over()
    assert (file.is_lost(), path.read_text()) == (False, "another")


def test_what_lies_next_to_a_deleted_file_goes_too(tmp_path: Path) -> None:
    file, path = DatabaseFile(tmp_path), tmp_path / DATABASE
    for ending in ("", "-wal", "-shm"):
        (tmp_path / f"{DATABASE}{ending}").write_text("old")
    file.remember()
    path.unlink()
    assert file.is_lost()
    file.start_over()
    assert [(f.name, f.stat().st_size) for f in tmp_path.iterdir()] == [(DATABASE, 0)]
    assert not file.is_lost()


def test_a_disk_that_does_not_say_loses_no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, path = DatabaseFile(tmp_path), tmp_path / DATABASE
    path.touch()
    file.remember()

    def hidden(*_: object, **__: object) -> None:
        raise OSError(116, "Stale file handle")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "stat", hidden)
        assert not file.is_lost()
    path.unlink()
    assert file.is_lost()
