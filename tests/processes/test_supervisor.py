"""The supervisor with real processes: order, restarts, stopping, and what is left when it is killed."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import stat
import time
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from segments.errors import PinotAdminError, Unavailable
from segments.processes.child import Child, ChildSpec, Timing
from segments.processes.child_run import Command, Life
from segments.processes.control import ask
from segments.processes.guardian import Guardian
from segments.processes.heartbeat_file import keep_heartbeat
from segments.processes.machine.private_folder import DATABASE
from segments.processes.probes import beat_probe
from segments.processes.sessions import is_running
from tests.processes.conftest import BEATING, CRASHING, PARENT, STEADY, STUBBORN, TOGETHER, Tiny, never
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="these tests look for processes in /proc")


def test_children_start_after_what_they_need_and_stop_in_reverse_order(tiny: Tiny) -> None:
    process = tiny.up(
        {"name": "zookeeper", "code": STEADY},
        {"name": "setup", "code": "print('tables made')", "once": True},
        {"name": "server-1", "code": STEADY, "after": ["zookeeper"]},
        {"name": "web", "code": STEADY, "after": ["setup", "zookeeper"]},
    )
    tiny.healthy()
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=15)
    assert process.returncode == 0
    assert (tiny.folder / "ends").read_text().split() == ["web", "server-1", "zookeeper"]
    assert "web        | hello from web" in output
    assert output.index("tables made") < output.index("hello from web")
    assert (tiny.folder / "logs" / "setup.log").read_text() == "tables made\n"
    assert not tiny.endpoints.exists()
    assert tiny.running() == []


def test_children_of_a_wave_stop_at_the_same_time_after_those_that_started_later(tiny: Tiny) -> None:
    process = tiny.up(
        {"name": "zookeeper", "code": STEADY},
        {"name": "worker", "code": TOGETHER, "wave": "workers"},
        {"name": "passes", "code": TOGETHER, "wave": "workers"},
        {"name": "demo", "code": STEADY},
    )
    tiny.healthy()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=15)
    first, *workers, last = (tiny.folder / "ends").read_text().split()
    assert (first, sorted(workers), last) == ("demo", ["passes", "worker"], "zookeeper")


def test_endpoints_name_all_processes_and_go_while_one_is_down(tiny: Tiny) -> None:
    tiny.up({"name": "zookeeper", "code": STEADY}, {"name": "server-1", "code": STEADY})
    before = tiny.healthy()
    assert stat.S_IMODE(tiny.endpoints.stat().st_mode) == 0o600
    assert before["servers"] == [
        {"instance": "Server_127.0.0.1_4", "admin": "http://127.0.0.1:5", "pid": before["servers"][0]["pid"]}
    ]
    assert list(before["pids"]) == ["zookeeper"]
    assert before["controller"] == before["broker"] == "http://127.0.0.1:1"
    os.kill(before["pids"]["zookeeper"], signal.SIGKILL)
    wait_until(lambda: not tiny.endpoints.exists(), 15, "removal of endpoints.json")
    after = tiny.healthy()
    assert after["pids"]["zookeeper"] != before["pids"]["zookeeper"]
    assert after["servers"] == before["servers"]


def test_a_child_that_does_not_answer_any_more_removes_the_endpoints_until_it_does(tiny: Tiny) -> None:
    tiny.up({"name": "web", "code": STEADY})
    pid = tiny.healthy()["pids"]["web"]
    (tiny.folder / "run" / "web.ready").unlink()
    wait_until(lambda: not tiny.endpoints.exists(), 15, "removal of endpoints.json")
    (tiny.folder / "run" / "web.ready").touch()
    assert tiny.healthy()["pids"]["web"] == pid


def test_a_stopped_child_is_killed_and_started_again(tiny: Tiny) -> None:
    process = tiny.up({"name": "web", "code": BEATING, "beat": "beat", "silence": 0.5})
    pid = tiny.healthy()["pids"]["web"]
    os.kill(pid, signal.SIGSTOP)
    (tiny.folder / "run" / "web.ready").unlink()
    wait_until(lambda: tiny.endpoints.exists() and tiny.healthy()["pids"]["web"] != pid, 30, "another process")
    assert not is_running(pid)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=15)
    assert "web is not ready any more" in output or "web does not answer any more" in output
    assert f"web (process {pid}) gave no sign of life for " in output
    assert "web ended (signal SIGKILL)" in output
    assert "starting it again in 0.1 s" in output


def test_a_child_that_lives_but_lacks_another_part_is_left_alone(tiny: Tiny) -> None:
    tiny.up({"name": "web", "code": BEATING, "beat": "beat", "silence": 0.5})
    pid = tiny.healthy()["pids"]["web"]
    (tiny.folder / "run" / "web.ready").unlink()
    wait_until(lambda: not tiny.endpoints.exists(), 15, "removal of endpoints.json")
    never(lambda: not is_running(pid), "the end of a living process", 2.0)
    (tiny.folder / "run" / "web.ready").touch()
    assert tiny.healthy()["pids"]["web"] == pid


def test_a_child_that_stands_still_for_a_moment_is_left_alone(tiny: Tiny) -> None:
    tiny.up({"name": "web", "code": BEATING, "beat": "beat", "silence": 60.0})
    pid = tiny.healthy()["pids"]["web"]
    os.kill(pid, signal.SIGSTOP)
    (tiny.folder / "run" / "web.ready").unlink()
    wait_until(lambda: not tiny.endpoints.exists(), 15, "removal of endpoints.json")
    (tiny.folder / "run" / "web.ready").touch()
    os.kill(pid, signal.SIGCONT)
    assert tiny.healthy()["pids"]["web"] == pid


def test_a_machine_that_stood_still_for_an_hour_has_its_children_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, hours = [], itertools.count()
    monkeypatch.setattr("segments.processes.child.time", SimpleNamespace(monotonic=lambda: next(hours) * 3600.0))

    async def silent() -> bool:
        asked.append(True)
        return False

    life = SimpleNamespace(pid=1, kill=lambda: None)
    timing = Timing(recheck_every=0.0, misses=3, silence=15.0)
    spec = ChildSpec("web", Command((), {}, Path()), probe=silent, timing=timing)
    child = Child(spec, "token", cast(Guardian, None), lambda *_: None, lambda: None)
    asyncio.run(child._keep_watch(cast(Life, life), silent))
    assert len(asked) == 3 + 3


def test_what_gets_on_while_it_starts_is_not_ended_however_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.count(step=50.0)
    monkeypatch.setattr("segments.processes.child.time", SimpleNamespace(monotonic=lambda: next(seconds)))
    gets_on, ended = iter([True] * 10 + [False] * 10), []

    async def never() -> bool:
        return False

    async def reading() -> bool:
        return next(gets_on)

    life = SimpleNamespace(pid=1, born=0.0, kill=lambda: ended.append(sum(1 for _ in gets_on)))
    timing = Timing(probe_every=0.0)
    spec = ChildSpec("mirror", Command((), {}, Path()), probe=never, alive=reading, timing=timing)
    child = Child(spec, "token", cast(Guardian, None), lambda *_: None, lambda: None)
    asyncio.run(child._watch(cast(Life, life)))
    assert ended == [10 - 2]  # two minutes after it stopped getting on


def test_the_wall_clock_may_jump_under_a_beating_process(tmp_path: Path) -> None:
    now, file = [0.0], tmp_path / "beat"
    probe = beat_probe(file, 10.0, lambda: now[0])
    assert not asyncio.run(probe())
    for second, mtime, is_alive in (
        (1, 9_000, True),
        (10, 9_000, True),
        (12, 9_000, False),
        (13, 5, True),
        (22, 5, True),
        (24, 5, False),
    ):
        now[0] = second
        file.touch()
        os.utime(file, (mtime, mtime))
        assert asyncio.run(probe()) is is_alive, second


def test_a_process_touches_its_file_again_and_again(tmp_path: Path) -> None:
    file = tmp_path / "run" / "worker.ready"
    keep_heartbeat(file, 0.01)
    os.utime(file, (5, 5))
    wait_until(lambda: file.stat().st_mtime > 5, 10, "another touch")
    file.unlink()
    wait_until(file.exists, 10, "another touch")


def test_a_child_that_keeps_dying_is_restarted_with_growing_delays(tiny: Tiny) -> None:
    tiny.up({"name": "broken", "code": CRASHING})
    starts = tiny.folder / "starts"
    times = wait_until(
        lambda: starts.exists() and len(lines := starts.read_text().split()) >= 5 and [float(t) for t in lines],
        15,
        "5 starts",
    )
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert all(gap >= wanted for gap, wanted in zip(gaps, (0.1, 0.2, 0.4, 0.4), strict=False)), gaps
    assert gaps[3] < 2.0, "the delay is bounded"
    assert not tiny.endpoints.exists()


def test_a_child_that_ignores_sigterm_is_killed_after_its_grace(tiny: Tiny) -> None:
    process = tiny.up({"name": "stubborn", "code": STUBBORN, "grace": 0.3})
    tiny.healthy()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode == 0
    assert tiny.running() == []


def test_a_second_ctrl_c_does_not_wait_for_the_grace(tiny: Tiny) -> None:
    process = tiny.up({"name": "stubborn", "code": STUBBORN, "grace": 60})
    tiny.healthy()
    process.send_signal(signal.SIGINT)
    wait_until(lambda: not tiny.endpoints.exists(), 15, "the begin of the stop")
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert time.monotonic() - began < 15
    assert tiny.running() == []


def test_kill_9_of_the_supervisor_leaves_no_process_behind(tiny: Tiny) -> None:
    process = tiny.up({"name": "worker", "code": PARENT}, {"name": "stubborn", "code": STUBBORN})
    tiny.healthy()
    family = [int(pid) for pid in (tiny.folder / "family").read_text().split()]
    assert all(map(is_running, family))
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_until(lambda: not any(map(is_running, family)) and not tiny.running(), 5, "the end of all processes")
    assert not tiny.endpoints.exists(), "nobody must take the cluster for healthy"


def test_after_kill_9_it_starts_again_on_the_same_directory(tiny: Tiny) -> None:
    first = tiny.up({"name": "web", "code": STEADY})
    before = tiny.healthy()["pids"]["web"]
    first.send_signal(signal.SIGKILL)
    first.wait()
    wait_until(lambda: not tiny.endpoints.exists(), 15, "removal of endpoints.json")
    tiny.up()
    assert tiny.healthy()["pids"]["web"] != before
    assert not is_running(before)


def test_what_a_dead_child_left_in_its_session_is_ended_before_it_starts_again(tiny: Tiny) -> None:
    tiny.up({"name": "worker", "code": PARENT})
    tiny.healthy()
    family = [int(pid) for pid in (tiny.folder / "family").read_text().split()]
    os.kill(family[0], signal.SIGKILL)
    wait_until(lambda: tiny.endpoints.exists() and tiny.healthy()["pids"]["worker"] != family[0], 15, "the restart")
    assert not any(map(is_running, family))


def test_a_killed_guardian_is_replaced_and_still_does_its_work(tiny: Tiny) -> None:
    process = tiny.up({"name": "stubborn", "code": STUBBORN})
    known = {process.pid, tiny.healthy()["pids"]["stubborn"]}
    guardian = (set(tiny.running()) - known).pop()
    os.kill(guardian, signal.SIGKILL)
    wait_until(lambda: set(tiny.running()) - known - {guardian}, 15, "a new guardian")
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_until(lambda: not tiny.running(), 15, "the end of all processes")


def test_what_outlived_both_supervisor_and_guardian_is_ended_by_the_next_start(tiny: Tiny) -> None:
    process = tiny.up({"name": "stubborn", "code": STUBBORN})
    child = tiny.healthy()["pids"]["stubborn"]
    process.send_signal(signal.SIGSTOP)
    os.kill((set(tiny.running()) - {process.pid, child}).pop(), signal.SIGKILL)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert is_running(child)
    tiny.endpoints.unlink()
    tiny.up({"name": "web", "code": STEADY})
    tiny.healthy()
    assert not is_running(child)


def test_a_second_supervisor_names_the_first_and_stops(tiny: Tiny) -> None:
    first = tiny.up({"name": "web", "code": STEADY})
    tiny.healthy()
    second = tiny.up()
    output, _ = second.communicate(timeout=10)
    assert second.returncode == 1
    assert f"already running: its 'up' is process {first.pid}" in output
    assert tiny.endpoints.exists()


def test_a_failed_setup_stops_everything_with_status_1(tiny: Tiny) -> None:
    process = tiny.up(
        {"name": "redis", "code": STEADY}, {"name": "setup", "code": "raise SystemExit('no disk')", "once": True}
    )
    output, _ = process.communicate(timeout=15)
    assert process.returncode == 1
    assert "no disk" in output
    assert "setup failed" in output
    assert tiny.running() == []


def test_a_killed_server_stays_down_until_it_is_started(tiny: Tiny) -> None:
    tiny.up({"name": "server-1", "code": STEADY, "aliases": ["Server_127.0.0.1_4"]}, {"name": "web", "code": STEADY})
    before = tiny.healthy()["servers"][0]["pid"]
    assert stat.S_IMODE((tiny.folder / "control.sock").stat().st_mode) == 0o600
    assert "was killed" in ask(tiny.folder, "kill", "Server_127.0.0.1_4")
    assert not is_running(before)
    assert not (tiny.folder / "ends").exists(), "SIGKILL, so it could not note its end"
    # Longer than several restart delays.
    never(tiny.endpoints.exists, "it was started without being asked for", 0.6)
    assert "is ready" in ask(tiny.folder, "start", "server-1")
    assert tiny.healthy()["servers"][0]["pid"] != before


def test_a_stopped_server_gets_sigterm(tiny: Tiny) -> None:
    tiny.up({"name": "server-1", "code": STEADY}, {"name": "web", "code": STEADY})
    tiny.healthy()
    assert "was stopped" in ask(tiny.folder, "stop", "server-1")
    assert (tiny.folder / "ends").read_text() == "server-1\n"
    with pytest.raises(PinotAdminError, match=r"'nobody' is not part of this cluster\. Known: server-1, web"):
        ask(tiny.folder, "start", "nobody")


def test_control_says_so_when_no_supervisor_runs(tiny: Tiny) -> None:
    with pytest.raises(Unavailable, match="No 'up' runs on"):
        ask(tiny.folder, "kill", "server-1")
    process = tiny.up({"name": "web", "code": STEADY})
    tiny.healthy()
    process.send_signal(signal.SIGKILL)
    process.wait()
    with pytest.raises(Unavailable, match="No 'up' runs on"):
        ask(tiny.folder, "kill", "web")


_MAKE = f"import sys; open(sys.argv[1] + '/{DATABASE}', 'a').write('set up. ')"
_SETUP = {"name": "setup", "once": True, "code": _MAKE}


def test_a_database_that_was_deleted_is_set_up_again_and_what_uses_it_starts_again(tiny: Tiny) -> None:
    process = tiny.up(
        {"name": "zookeeper", "code": STEADY}, _SETUP, {"name": "web", "code": STEADY, "after": ["setup"]}
    )
    before = tiny.healthy()["pids"]
    database = tiny.folder / DATABASE
    assert database.read_text() == "set up. "
    database.unlink()
    wait_until(lambda: database.exists() and database.read_text() == "set up. ", 15, "the database is set up again")
    wait_until(lambda: tiny.healthy()["pids"].get("web") not in (None, before["web"]), 15, "another web process")
    assert tiny.healthy()["pids"]["zookeeper"] == before["zookeeper"]
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=15)
    assert (process.returncode, output.count("it is set up again")) == (0, 1)


def test_a_part_that_somebody_stopped_stays_down(tiny: Tiny) -> None:
    tiny.up(_SETUP, {"name": "web", "code": STEADY, "after": ["setup"]}, {"name": "mirror", "code": STEADY})
    tiny.healthy()
    ask(tiny.folder, "stop", "web")
    (tiny.folder / DATABASE).unlink()
    wait_until(lambda: (tiny.folder / DATABASE).exists(), 15, "the database is set up again")
    assert "is ready" in ask(tiny.folder, "start", "web")
