"""The first rows of Parquet, ORC and Avro files, read in a process of its own.

A few bytes of such a file can say that they are gigabytes: one large value repeated, pages of zeros, a billion nulls.
No footer is to be trusted about it, so the process has a bound of memory and of time, and hands on a table whose weight
is bounded, too. Whoever asked goes on, whatever becomes of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from segments import errors
from segments.domain.push.push_plan import InputFile
from segments.errors import InvalidInput, PinotAdminError, TooManyRequests
from segments.gateways.input_files.access import FileAccess

#: Bytes that the process may take beyond those it begins with, and seconds.
MEMORY: Final = 1 << 30
SECONDS: Final = 30.0
#: Processes at a time, and tables that are remembered: a page reads its file again with every change.
_AT_ONCE: Final = 2
_KEPT: Final = 2
_PROJECT: Final = Path(__file__).resolve().parents[4]
_REMEDY: Final = "Create the schema with POST /schemas and the table with POST /tables, or choose another file."

Found = tuple[pa.Table, bool]


class BinaryRows:
    """Reads files in processes of their own. Safe between threads."""

    def __init__(self, memory: int = MEMORY, seconds: float = SECONDS) -> None:
        self._memory, self._seconds = memory, seconds
        self._room = threading.BoundedSemaphore(_AT_ONCE)
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[object, ...], Found] = OrderedDict()

    def read(self, file: InputFile, data_format: str, access: FileAccess, *, raw_times: bool = False) -> Found:
        """(the first rows with all columns, are they all rows). ``raw_times``: of Avro and Parquet, times stay numbers.

        Raises InvalidInput naming the file, also when it takes more memory or time than is given; what opening it
        raises; TooManyRequests.
        """
        key = (file, data_format, access, raw_times)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        if not self._room.acquire(timeout=self._seconds):
            raise TooManyRequests("Too many files are being read now.", remedy="Try again in a minute.")
        try:
            found = self._asked(file, data_format, access, raw_times)
        finally:
            self._room.release()
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found

    def _asked(self, file: InputFile, data_format: str, access: FileAccess, raw_times: bool) -> Found:
        body = {
            "path": file.path, "format": data_format, "rawTimes": raw_times, "memory": self._memory,
            "seconds": self._seconds, "access": None if access.is_open else access.to_json(),
        }  # fmt: skip
        try:
            done = subprocess.run(
                [sys.executable, "-m", "segments.spark.reading.sample.reading_process"],
                input=json.dumps(body).encode(), stdout=subprocess.PIPE, cwd=_PROJECT, timeout=self._seconds,
                check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise _beyond(file, f"take more than {self._seconds:g} s to read") from error
        if done.returncode:
            raise InvalidInput(
                f"Input file '{file.path}' cannot be read: it ended the process that read it (status "
                f"{done.returncode}), which may take {self._memory >> 20} MB and {self._seconds:g} s.",
                remedy=_REMEDY,
            )
        head, _, table = done.stdout.partition(b"\n")
        answer = json.loads(head)
        if answer.get("beyond"):
            raise _beyond(file, f"take more than {self._memory >> 20} MB of memory")
        if "error" in answer:
            raise _error(answer)
        return pa.ipc.open_stream(table).read_all(), bool(answer["isWhole"])


def _beyond(file: InputFile, what: str) -> InvalidInput:
    return InvalidInput(f"The first rows of input file '{file.path}' {what}.", remedy=_REMEDY)


def _error(answer: Mapping[str, Any]) -> PinotAdminError:
    kind: type[PinotAdminError] = getattr(errors, answer["error"])
    return kind(answer["message"], remedy=answer["remedy"], **answer["data"])


#: The reader of this process.
BINARY_ROWS: Final = BinaryRows()
