"""Builds all parts of a push as one Spark job, and reports each part when it is done."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from segments.domain.push.push_plan import InputFile, Part, Piece
from segments.domain.push.reader_spec import from_json
from segments.errors import InvalidInput, PinotAdminError, Unavailable
from segments.gateways.input_files.access import access_from_json
from segments.gateways.input_files.source import input_source
from segments.spark import session
from segments.spark.build_part import BuildJob, Built, Failed, read_answers, try_build_part
from segments.spark.executors import SparkUnavailable
from segments.spark.reading.cuts import Answer, Item, find_cuts
from segments.spark.reading.rows import count_rows

_POLL_S: Final = 0.05
#: What a task of ours raised, in the text that Spark's JVM makes of it: a line below a hundred others.
_OURS: Final = re.compile(r"^segments(?:\.\w+)+: (.+)$", re.MULTILINE)
_LONGEST: Final = 600


@dataclass
class _Run:
    """A running job: what the tasks have answered so far."""

    done: threading.Event = field(default_factory=threading.Event)
    answers: list[dict[str, Any]] = field(default_factory=list)
    failure: BaseException | None = None


class SparkBuilder:
    """Builds with the process's SparkContext for ``master``."""

    def __init__(self, master: str) -> None:
        self.master = master

    def ui_address(self) -> str:
        """Where Spark's own page is while its context runs; empty: it has none."""
        return session.ui_address(self.master) or ""

    def build(
        self,
        job: BuildJob,
        parts: Sequence[Part],
        on_built: Callable[[list[Built]], None],
        on_failed: Callable[[list[Failed]], None],
    ) -> None:
        """Build and stage parts; a part that fails does not stop the others.

        Each part is reported once, in this thread, soon after it is staged (``on_built``) or could not be
        (``on_failed``); ``on_built`` is called with [] now and then between. What either raises cancels the job and is
        raised here: that is how a caller stops at the first bad file. Raises Unavailable when Spark fails.
        """
        largest_first = sorted(parts, key=lambda p: -p.weight)  # all cores end at about the same time
        bodies = [p.to_json() for p in largest_first]
        seen: set[int] = set()

        def report(answers: list[dict[str, Any]]) -> None:
            fresh = {a["ordinal"]: a for a in answers if a["ordinal"] not in seen}
            seen.update(fresh)
            built, failed = read_answers(list(fresh.values()))
            on_built(built)
            if failed:
                on_failed(failed)

        self._run(bodies, lambda body: try_build_part(job, body), report)

    def count_rows(
        self, paths: Sequence[str], reader: dict[str, Any], on_tick: Callable[[], None], access: dict[str, Any]
    ) -> dict[str, int]:
        """Rows of each file, read with ``access`` (``FileAccess``). Raises InvalidInput naming a file that cannot be
        read.
        """
        counts: dict[str, int] = {}

        def report(answers: list[dict[str, Any]]) -> None:
            on_tick()
            for answer in answers:
                if "error" in answer:
                    raise InvalidInput(answer["error"], remedy=answer["remedy"])
                counts[answer["path"]] = answer["rows"]

        self._run(list(paths), lambda path: _try_count(path, reader, access), report)
        return counts

    def find_cuts(
        self,
        files: Sequence[InputFile],
        reader: dict[str, Any],
        target: int,
        on_tick: Callable[[], None],
        access: dict[str, Any] | None = None,
    ) -> dict[str, list[Piece]]:
        """Where files may be cut into pieces of about ``target`` bytes, for ``parts_by_size``; see ``files_to_cut``.

        A file that cannot be read is left out: building it says why. ``on_tick`` is called now and then; what it
        raises ends the search. Raises Unavailable when Spark fails.
        """
        spec, allowed = from_json(reader), access or {}

        def run(items: Sequence[Item], work: Callable[[Item], Answer]) -> list[Answer]:
            answers: dict[int, Answer] = {}

            def report(found: list[dict[str, Any]]) -> None:
                on_tick()
                answers.update({a["number"]: a["answer"] for a in found})

            numbered = list(enumerate(items))
            self._run(numbered, lambda one: {"number": one[0], "answer": work(one[1])}, report)
            return [answers[number] for number, _ in numbered]

        return find_cuts(files, spec, target, allowed, run)

    def _run(
        self, items: list[Any], work: Callable[[Any], dict[str, Any]], report: Callable[[list[dict[str, Any]]], None]
    ) -> None:
        """One task per item. Answers arrive through an accumulator while the job runs, and for certain
        in its result.
        """
        if not items:
            return
        spark = session.context(self.master)
        run, group = _Run(), f"push-{uuid.uuid4()}"
        try:
            arrived = spark.accumulator([], _list_param())
            thread = threading.Thread(
                target=_collect, args=(spark, group, items, work, arrived, run), name=group, daemon=True
            )
            thread.start()
            try:
                reported = 0
                while not run.done.wait(_POLL_S):
                    fresh = arrived.value[reported:]
                    reported += len(fresh)
                    report(fresh)
                    session.check_executors(self.master)
            except SparkUnavailable:
                raise
            except BaseException:
                spark.cancelJobGroup(group)
                run.done.wait(10)
                raise
        except PinotAdminError:
            raise
        except Exception as error:
            raise self._lost(error) from error
        if run.failure is not None:
            raise self._lost(run.failure) from run.failure
        report(run.answers)

    def _lost(self, error: BaseException) -> Unavailable:
        raised = _OURS.search(str(error))
        text = " ".join((raised[1] if raised else f"{type(error).__name__}: {error}").split())[:_LONGEST]
        return Unavailable(f"Spark failed while building segments: {text}", remedy="The push continues automatically.")


def _collect(
    spark: Any, group: str, items: list[Any], work: Callable[[Any], dict[str, Any]], arrived: Any, run: _Run
) -> None:
    def task(item: Any) -> dict[str, Any]:
        answer = work(item)
        arrived.add([answer])
        return answer

    try:
        spark.setJobGroup(group, "building segments", interruptOnCancel=True)
        run.answers = spark.parallelize(items, len(items)).map(task).collect()
    except BaseException as error:  # noqa: BLE001  handed to the thread that waits
        run.failure = error
    finally:
        run.done.set()


def _list_param() -> Any:
    from pyspark.accumulators import AccumulatorParam  # pyspark is imported only where Spark is used

    class ListParam(AccumulatorParam[list[Any]]):
        """Adds lists by appending."""

        def zero(self, value: list[Any]) -> list[Any]:
            """Nothing arrived yet."""
            return []

        def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:
            """Append."""
            value1 += value2
            return value1

    return ListParam()


def _try_count(path: str, reader: dict[str, Any], access: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"path": path, "rows": count_rows(path, from_json(reader), input_source(access_from_json(access)))}
    except PinotAdminError as error:
        if not error.permanent:
            raise
        return {"path": path, "error": error.message, "remedy": error.remedy}
