"""``task.taskTypeConfigsMap.FileIngestionTask`` of a table config as typed values: keys, defaults, refusals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from segments.domain.ingestion.replaced_part import (
    SELECTING,
    Selector,
    partition_problems,
    read_selector,
    selector_problems,
)
from segments.domain.ingestion.task_keys import (
    FLAGS,
    KNOWN,
    NUMBERS,
    PREFIXES,
    SIZES,
    WITHOUT_EFFECT,
    Problem,
    wrong,
)
from segments.domain.push.file_system import PREFIX as FILE_SYSTEM
from segments.domain.push.file_system import read_folder, without_effect
from segments.domain.push.path_pattern import parse_pattern
from segments.domain.push.push_model import RecordReader
from segments.domain.push.reader_spec import ReaderSpec, parse_reader
from segments.domain.schedules.cron_times import time_zone
from segments.domain.schedules.quartz import parse_cron
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput
from segments.names import OFFLINE, shown

__all__ = [
    "TASK_TYPE",
    "IngestionMode",
    "IngestionTask",
    "Problem",
    "parse_ingestion_task",
    "problems",
    "refusal",
    "task_map",
]

TASK_TYPE: Final = "FileIngestionTask"
_READER: Final = "recordReader.prop."
_TRUE: Final = "true"
_UNITS: Final = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_POLICIES: Final = ("add", "replace", "skip")


class IngestionMode(StrEnum):
    """APPEND: new files are added. SYNC: the table follows the folder, deletions and changes too."""

    APPEND = "APPEND"
    SYNC = "SYNC"


class ModifiedFilePolicy(StrEnum):
    """What APPEND does with a file that changed after its rows became visible: add its rows to the old ones, put them
    in their place, or leave it.
    """

    ADD = "add"
    REPLACE = "replace"
    SKIP = "skip"


@dataclass(frozen=True)
class RunLimits:
    """What one run may read at most: files, bytes of them, and tasks, each of which builds a segment; 0: any number."""

    files: int = 0
    bytes: int = 0
    tasks: int = 0


@dataclass(frozen=True)
class IngestionTask:
    """A checked task. ``consistent``: all files appear at once (either flag); ``swap``: and replace the whole table.

    ``max_files`` may share a segment, ``max_bytes`` of input go into one, ``max_tasks`` files are read in one batch; 0:
    as ``packing`` decides, the usual size, all at once. ``run``: what one run may read.
    ``file_system`` are the ``input.fs.*`` keys, prefix included. ``selector`` names what is replaced; None: by mode.
    ``schedule`` is a checked cron expression, ``schedule_zone`` the name of its time zone; None: the setting's.
    ``strict_snapshot``: a swap that would leave segments next to its own is refused.
    ``error_rate`` is the share of bad rows of a file (0 to 1) from which on the file fails.
    """

    mode: IngestionMode
    swap: bool
    consistent: bool
    max_retries: int
    clear: bool
    atomic_upload: bool
    input_dir: str
    input_format: str
    include: str | None
    exclude: str | None
    schedule: str | None
    reader: ReaderSpec
    file_system: Mapping[str, str]
    max_files: int
    max_bytes: int
    max_tasks: int
    modified_file_policy: ModifiedFilePolicy
    allow_empty_swap: bool
    force_swap: bool
    skip_unreadable: bool
    error_rate: float | None
    recursive: bool
    selector: Selector | None
    schedule_zone: str | None = None
    run: RunLimits = RunLimits()
    strict_snapshot: bool = False


def task_map(config: TableConfig) -> dict[str, str] | None:
    """The task's keys as text, without those whose value is null; None when the table has no such task."""
    found = (config.model.task.task_type_configs_map or {}) if config.model.task else {}
    if TASK_TYPE not in found:
        return None
    return {key: str(value) for key, value in (found[TASK_TYPE] or {}).items() if value is not None}


def parse_ingestion_task(config: TableConfig) -> IngestionTask | None:
    """The task of a table; None when it has none. Raises InvalidInput with the first key that is wrong (``field``)."""
    given = task_map(config)
    if given is None:
        return None
    found = [p for p in (*problems(given), *partition_problems(given, config)) if p.is_wrong]
    if config.table.type != OFFLINE:
        what = f"Table '{config.table}' is not an OFFLINE table, and files are ingested into those only"
        found.insert(0, wrong(TASK_TYPE, what, "Add the task to an OFFLINE table."))
    if found:
        first = found[0]
        raise refusal(config, first)
    return _task(given, config)


def refusal(config: TableConfig, problem: Problem) -> InvalidInput:
    """The refusal of a table config for this problem; ``field`` is the key, ``position`` the character of its value."""
    more = {} if problem.position is None else {"position": problem.position}
    return InvalidInput(f"{problem.what} (table '{config.table}').", remedy=problem.remedy, field=problem.key, **more)


def problems(given: Mapping[str, str]) -> list[Problem]:
    """What is wrong with the task's keys, then what has no effect or is unknown; in the order of the keys."""
    found = [*_wrong(given), *selector_problems(given)]
    unknown = [
        Problem(key, f"'{shown(key)}' is not a key of {TASK_TYPE} that is known here", _nearest(key))
        for key in given
        if key not in KNOWN and key not in WITHOUT_EFFECT and not key.startswith(PREFIXES)
    ]
    ineffective = [
        Problem(key, f"'{key}' has no effect: {WITHOUT_EFFECT[key]}", "Remove it.")
        for key in given
        if key in WITHOUT_EFFECT
    ]
    ineffective += [
        Problem(key, f"'{key}' has no effect: {why}", "Remove it.") for key, why in without_effect(given).items()
    ]
    return [*found, *unknown, *ineffective, *_overruled(given)]


def _wrong(given: Mapping[str, str]) -> list[Problem]:
    found = [
        wrong(key, f"'{key}' must be true or false, not '{shown(given[key])}'", "Write true or false.")
        for key in FLAGS
        if given.get(key, "").strip().lower() not in ("", _TRUE, "false")
    ]
    for key, (low, high) in NUMBERS.items():
        if key in given and not _is_number(given[key], low, high):
            found.append(
                wrong(
                    key, f"'{key}' must be a whole number from {low} to {high}, not '{shown(given[key])}'",
                    "Write a whole number in digits.",
                )
            )  # fmt: skip
    if not given.get("inputDirURI", "").strip():
        found.append(wrong("inputDirURI", "'inputDirURI' is missing", "Name the folder with the input files."))
    found += _refused("inputDirURI", lambda: read_folder(given.get("inputDirURI", "").strip(), _file_system(given)))
    found += _wrong_choices(given)
    for key in ("includeFileNamePattern", "excludeFileNamePattern"):
        found += _refused(key, lambda key=key: parse_pattern(given[key]) if given.get(key) else None)
    found += _refused("inputFormat", lambda: _reader(given))
    for key, read in (("schedule", parse_cron), ("scheduleTimeZone", time_zone)):
        text = given.get(key, "").strip()
        found += _refused(key, lambda text=text, read=read: read(text) if text else None)
    return found


def _wrong_choices(given: Mapping[str, str]) -> list[Problem]:
    found = []
    if given.get("ingestionMode", "APPEND").strip().upper() not in list(IngestionMode):
        text = f"'ingestionMode' must be APPEND or SYNC, not '{shown(given['ingestionMode'])}'"
        found.append(wrong("ingestionMode", text, "Write APPEND or SYNC."))
    if given.get("modifiedFilePolicy", "add").strip().lower() not in _POLICIES:
        text = f"'modifiedFilePolicy' must be add, replace or skip, not '{shown(given['modifiedFilePolicy'])}'"
        found.append(wrong("modifiedFilePolicy", text, "Write add, replace or skip."))
    for key in SIZES:
        if key in given and _bytes(given[key]) is None:
            text = f"'{key}' must be a size such as 1G or 500M, not '{shown(given[key])}'"
            found.append(wrong(key, text, "Write digits and, if it is not a number of bytes, K, M, G or T."))
    if "errorRate" in given and _share(given["errorRate"]) is None:
        text = f"'errorRate' must be a number from 0 to 1, not '{shown(given['errorRate'])}'"
        found.append(wrong("errorRate", text, "0.01 lets one row in a hundred be bad; it is left out."))
    return found


def _overruled(given: Mapping[str, str]) -> list[Problem]:
    """Keys that another key makes ineffective."""
    found = []
    swap, consistent = _flag(given, "consistentPushSwapEnabled"), _flag(given, "consistentPushEnabled")
    if swap and consistent:
        what = "'consistentPushEnabled' has no effect next to 'consistentPushSwapEnabled'"
        found.append(Problem("consistentPushEnabled", what, "Remove one of the two."))
    if _flag(given, "enableAtomicUpload") and (swap or consistent):
        what = "'enableAtomicUpload' has no effect with consistent push, which shows all files at once"
        found.append(Problem("enableAtomicUpload", what, "Remove it."))
    elif _flag(given, "enableAtomicUpload") and given.get("ingestionMode", "").strip().upper() != IngestionMode.SYNC:
        what = "'enableAtomicUpload' has no effect in APPEND mode"
        found.append(Problem("enableAtomicUpload", what, "Set ingestionMode to SYNC, or remove it."))
    if _flag(given, "strictSnapshot") and not swap:
        what = "'strictSnapshot' has no effect without consistentPushSwapEnabled"
        found.append(Problem("strictSnapshot", what, "Set it, or remove strictSnapshot."))
    if swap:
        what = "has no effect next to 'consistentPushSwapEnabled', which replaces the whole table"
        found += [Problem(key, f"'{key}' {what}", "Remove one of the two.") for key in SELECTING if key in given]
    if not (swap or consistent):
        what = "needs consistentPushEnabled: what it names is replaced in one switch"
        found += [wrong(key, f"'{key}' {what}", "Set it to true.") for key in SELECTING if key in given]
        for key in ("consistentPushMaxRetries", "clearConsistentPushState"):
            if key in given:
                what = f"'{key}' has no effect without consistentPushEnabled or consistentPushSwapEnabled"
                found.append(Problem(key, what, "Set one of the two, or remove it."))
    return found


def _task(given: Mapping[str, str], config: TableConfig) -> IngestionTask:
    swap = _flag(given, "consistentPushSwapEnabled")
    consistent = swap or _flag(given, "consistentPushEnabled")
    mode = IngestionMode(given.get("ingestionMode", "APPEND").strip().upper())
    return IngestionTask(
        mode=mode,
        swap=swap,
        consistent=consistent,
        max_retries=_number(given, "consistentPushMaxRetries", 0),
        clear=_flag(given, "clearConsistentPushState"),
        atomic_upload=_flag(given, "enableAtomicUpload") and not consistent and mode is IngestionMode.SYNC,
        input_dir=given["inputDirURI"].strip(),
        input_format=_reader(given).format,
        include=given.get("includeFileNamePattern") or None,
        exclude=given.get("excludeFileNamePattern") or None,
        schedule=given.get("schedule", "").strip() or None,
        reader=_reader(given),
        file_system=_file_system(given),
        max_files=max(_number(given, "taskMaxNumFiles", 0), 0),
        max_bytes=_bytes(given.get("taskMaxDataSize", "0")) or 0,
        max_tasks=max(_number(given, "tableMaxNumTasks", 0), 0),
        modified_file_policy=ModifiedFilePolicy(given.get("modifiedFilePolicy", "add").strip().lower()),
        allow_empty_swap=_flag(given, "allowEmptySwap"),
        force_swap=_flag(given, "forceSwap"),
        skip_unreadable=_flag(given, "skipFileIfFailToInitReader"),
        error_rate=_share(given["errorRate"]) if "errorRate" in given else None,
        recursive=given.get("searchRecursively", _TRUE).strip().lower() != "false",
        selector=None if swap else read_selector(given, config),
        schedule_zone=given.get("scheduleTimeZone", "").strip() or None,
        run=RunLimits(
            max(_number(given, "runMaxNumFiles", 0), 0),
            _bytes(given.get("runMaxDataSize", "0")) or 0,
            max(_number(given, "runMaxNumTasks", 0), 0),
        ),
        strict_snapshot=_flag(given, "strictSnapshot"),
    )


def _file_system(given: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in given.items() if key.startswith(FILE_SYSTEM)}


def _reader(given: Mapping[str, str]) -> ReaderSpec:
    configs = {key.removeprefix(_READER): value for key, value in given.items() if key.startswith(_READER)}
    spec = RecordReader(
        data_format=given.get("inputFormat", "").strip() or None,
        class_name=given.get("recordReader.className"),
        configs=configs or None,
    )
    return parse_reader(spec)


def _refused(key: str, read: object) -> list[Problem]:
    """What reading refuses, under the task's own key."""
    assert callable(read)
    try:
        read()
    except InvalidInput as error:
        field = str(error.data.get("field") or "")
        below = field.removeprefix("recordReaderSpec.configs.")
        own = f"{_READER}{below}" if below != field else field if field.startswith(FILE_SYSTEM) else key
        text = error.message.rstrip(".").replace("recordReaderSpec.configs.", _READER)
        text = text.replace("recordReaderSpec.dataFormat", "inputFormat")
        return [Problem(own, text, error.remedy, is_wrong=True, position=error.data.get("position"))]
    return []


def _nearest(key: str) -> str:
    same = next((k for k in (*KNOWN, *WITHOUT_EFFECT) if k.lower() == key.lower()), None)
    return f"Write it '{same}'." if same else "Remove it, or see the documentation of file ingestion."


def _flag(given: Mapping[str, str], key: str) -> bool:
    return given.get(key, "").strip().lower() == _TRUE


def _is_number(text: str, low: int, high: int) -> bool:
    digits = text.strip()
    if not digits.isascii() or not digits.removeprefix("-").isdecimal() or len(digits) > 12:
        return False
    return low <= int(digits) <= high


def _number(given: Mapping[str, str], key: str, default: int) -> int:
    return int(given[key].strip()) if given.get(key, "").strip() else default


def _bytes(text: str) -> int | None:
    """``1G``, ``500MB``, ``1024`` -> bytes, ``-1`` -> 0, which is no limit; None for other text."""
    if text.strip() == "-1":
        return 0
    unit = text.strip().upper().lstrip("0123456789")
    digits = text.strip()[: len(text.strip()) - len(unit)]
    factor = _UNITS.get(unit.strip().removesuffix("B") if unit.strip() != "B" else "B")
    return int(digits) * factor if digits.isdecimal() and len(digits) < 16 and factor else None


def _share(text: str) -> float | None:
    try:
        share = float(text)
    except ValueError:
        return None
    return share if 0 <= share <= 1 else None
