"""The task paths of a Pinot controller: queues, tasks, the scheduler, with what an old version on a new Java cannot
write.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import httpx

NAME = "Task_MergeRollupTask_578ffdcb-cefd-4923-b328-f04a70539429_{}"


@dataclass
class FakeTasks:
    """``queues`` {type: state}; ``tasks`` {type: {name: answer of debug}}. ``jobs`` {(table, type): (next, previous)},
    None: the scheduler is off. ``enabled`` {type: tables}: for which a schedule makes a task, ``idle``: it finds
    nothing to do. ``is_old``: answers only who accepts JSON, as 0.11.0 does. ``breaks``: paths whose answer it cannot
    write.
    """

    queues: dict[str, str] = field(default_factory=dict)
    tasks: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    jobs: dict[tuple[str, str], tuple[int, int | None]] | None = None
    enabled: dict[str, list[str]] = field(default_factory=dict)
    is_idle: bool = False
    errors: str = ""
    is_old: bool = False
    breaks: set[str] = field(default_factory=set)
    generations: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def add(self, task_type: str, number: int, state: str = "COMPLETED", **debug: Any) -> str:
        """A task of this type; returns its name."""
        name = NAME.format(number).replace("MergeRollupTask", task_type)
        self.queues.setdefault(task_type, "IN_PROGRESS")
        self.tasks.setdefault(task_type, {})[name] = {"taskState": state, **debug}
        return name

    def answer(self, request: httpx.Request) -> httpx.Response:
        """The answer to any path below /tasks/."""
        parts = [unquote(p) for p in request.url.raw_path.decode().partition("?")[0].split("/")[2:]]
        self.asked.append(f"{request.method} {'/'.join(parts)}")
        if self.is_old and "application/json" not in request.headers.get("accept", ""):
            return httpx.Response(500, json={"code": 500, "error": "HTTP 500 Internal Server Error"})
        verbosity = request.url.params.get("verbosity", "0")
        if "/".join(parts) in self.breaks or f"{parts[-1]}?{verbosity}" in self.breaks:
            text = (
                "Index 19562 out of bounds for length 121 (through reference chain: "
                'java.util.ArrayList[0]->x["taskConfig"])'
            )
            return httpx.Response(400, text=text)
        return self._change(request, parts) if request.method != "GET" else self._read(parts)

    def _read(self, parts: list[str]) -> httpx.Response:
        match parts:
            case ["tasktypes"]:
                return _json(sorted(self.queues))
            case ["scheduler", *_] if self.jobs is None:
                return httpx.Response(404, json={"code": 404, "error": "Task scheduler is disabled"})
            case ["scheduler", "information"]:
                return _json({"JobDetails": [self._job(key) for key in self.jobs or {}], "InStandbyMode": False})
            case ["scheduler", "jobKeys"]:
                return _json([{"name": table, "group": kind} for table, kind in self.jobs or {}])
            case ["generator", table, kind, "debug"]:
                return _json(self.generations.get(f"{table}/{kind}", []))
            case ["task", name, "debug"]:
                return _json(self._task(name)[1])
            case ["subtask", name, "state"]:
                return _json({s["taskId"]: s["state"] for s in self._task(name)[1].get("subtaskInfos", [])})
            case [kind, "taskstates"]:
                return _json({name: body["taskState"] for name, body in self.tasks.get(kind, {}).items()})
            case [kind, "state"]:
                known = self.queues.get(kind)
                return (
                    _json(known)
                    if known
                    else httpx.Response(500, json={"code": 500, "error": 'Cannot invoke "getWorkflowState()"'})
                )
        return httpx.Response(404, json={"code": 404, "error": "HTTP 404 Not Found"})

    def _change(self, request: httpx.Request, parts: list[str]) -> httpx.Response:
        match parts:
            case ["schedule"]:
                return self._schedule(request.url.params["taskType"], request.url.params["tableName"])
            case [kind, ("stop" | "resume") as word]:
                self.queues[kind] = "STOPPED" if word == "stop" else "IN_PROGRESS"
            case [kind, "cleanup"]:
                self.tasks[kind] = {
                    n: b for n, b in self.tasks[kind].items() if b["taskState"] not in ("COMPLETED", "FAILED")
                }
            case ["task", name]:
                kind, _ = self._task(name)
                if self.queues[kind] != "STOPPED":
                    return httpx.Response(500, json={"code": 500, "error": f"Queue TaskQueue_{kind} is still running!"})
                del self.tasks[kind][name]
        return _json({"status": "Successfully done"})

    def _schedule(self, kind: str, table: str) -> httpx.Response:
        if kind not in self.enabled:
            return httpx.Response(500, json={"code": 500, "error": f"Task type: {kind} is not registered"})
        if table not in self.enabled[kind]:
            return httpx.Response(
                500, json={"code": 500, "error": f"Table: {table} does not have task type: {kind} enabled"}
            )
        if self.errors:
            return _json({"generationErrors": self.errors, "schedulingErrors": ""})
        if self.is_idle:
            return _json({kind: None})
        return _json({kind: self.add(kind, 1_795_300_000_000 + len(self.tasks.get(kind, {})), "NOT_STARTED")})

    def _job(self, key: tuple[str, str]) -> dict[str, Any]:
        assert self.jobs is not None
        following, previous = self.jobs[key]
        return {"JobKey": {"name": key[0], "group": key[1]}, "NextFireTime": following, "PreviousFireTime": previous}

    def _task(self, name: str) -> tuple[str, dict[str, Any]]:
        return next((kind, tasks[name]) for kind, tasks in self.tasks.items() if name in tasks)


def _json(value: Any) -> httpx.Response:
    return httpx.Response(200, json=value)
