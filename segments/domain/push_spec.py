"""Pinot's ingestion job specification: which keys exist, their defaults, and which of them a push here can honour.

Rules and defaults: batch-push.md 3, 6, 7 and 9. Three kinds of keys: used, accepted without effect (they describe where Pinot's own
runners put files or which classes they load), and refused with the reason. Unknown keys are refused with path and line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from segments.domain.job_text import parse_text
from segments.domain.path_pattern import parse_pattern
from segments.domain.reader_spec import ReaderSpec, parse_reader
from segments.domain.secret_masks import mask
from segments.errors import InvalidInput
from segments.names import OFFLINE, TableName, check_raw_table_name, split_table_name

_PUSHES: Final = ("SegmentCreationAndMetadataPush", "SegmentCreationAndTarPush", "SegmentCreationAndUriPush")
_OTHER_JOBS: Final = ("SegmentCreation", "SegmentTarPush", "SegmentUriPush", "SegmentMetadataPush")
NAME_TYPES: Final = ("simple", "normalizedDate", "fixed", "inputFile")

#: Every key of the specification: dotted path -> True (read here), False (accepted without effect), text (refused: why).
_KEYS: Final[dict[str, bool | str]] = {
    "jobType": True, "inputDirURI": True, "outputDirURI": False, "searchRecursively": True, "includeFileNamePattern": True,
    "excludeFileNamePattern": True, "segmentCreationJobParallelism": True, "overwriteOutput": False, "pinotFSSpecs": False,
    "cleanUpOutputDir": False, "failOnEmptySegment": True, "authToken": False, "createMetadataTarGz": False,
    "tlsSpec": "files go to the deep store directly, no HTTP connection is made",
    "executionFrameworkSpec.name": False, "executionFrameworkSpec.segmentGenerationJobRunnerClassName": False,
    "executionFrameworkSpec.segmentTarPushJobRunnerClassName": False, "executionFrameworkSpec.segmentUriPushJobRunnerClassName": False,
    "executionFrameworkSpec.segmentMetadataPushJobRunnerClassName": False, "executionFrameworkSpec.extraConfigs": True,
    "tableSpec.tableName": True, "tableSpec.schemaURI": False, "tableSpec.tableConfigURI": False,
    "recordReaderSpec.dataFormat": True, "recordReaderSpec.className": True, "recordReaderSpec.configClassName": False,
    "recordReaderSpec.configs": True, "segmentNameGeneratorSpec.type": True, "segmentNameGeneratorSpec.configs": True,
    "pinotClusterSpecs": True, "pushJobSpec.pushAttempts": False, "pushJobSpec.pushParallelism": False,
    "pushJobSpec.pushRetryIntervalMillis": False, "pushJobSpec.copyToDeepStoreForMetadataPush": False,
    "pushJobSpec.batchSegmentUpload": False, "pushJobSpec.segmentMetadataGenerationParallelism": False,
    "pushJobSpec.preferMetadataTarGz": False, "pushJobSpec.extraConfigs": True,
    "pushJobSpec.segmentUriPrefix": "segments are served from the deep store",
    "pushJobSpec.segmentUriSuffix": "segments are served from the deep store",
    "pushJobSpec.pushFileNamePattern": "a push registers exactly the segments that it builds",
}  # fmt: skip
#: Below these everything is allowed; its own parser checks it.
_OPEN: Final = ("recordReaderSpec.configs", "segmentNameGeneratorSpec.configs", "pinotFSSpecs", "pinotClusterSpecs")
#: The longest path of Linux.
_LONGEST_TEXT: Final = 4096
_EXTRA: Final = ("stagingDir", "dependencyJarDir", "segmentTargetRows", "atomicAppend", "overrideChecks")


@dataclass(frozen=True)
class PushSpec:
    """A checked specification. ``input_dir`` is a local path; ``body`` is the document as given, its secrets masked.

    ``target_rows``: rows per segment (ours; None: one segment per file). ``atomic_append``: a push to an APPEND table goes through a
    lineage entry with an empty old side, so that all its segments appear at once (ours). ``override_checks``: the reason for which the
    table's checks may fail (ours).
    """

    table: TableName
    input_dir: str
    recursive: bool
    include: str | None
    exclude: str | None
    reader: ReaderSpec
    name_type: str | None
    name_configs: Mapping[str, str]
    parallelism: int
    target_rows: int | None
    atomic_append: bool
    fail_on_empty: bool
    override_checks: str
    body: dict[str, Any] = field(compare=False)


def parse_spec(given: str | Mapping[str, Any]) -> PushSpec:
    """Check a job specification given as YAML or JSON text, or as values. Raises InvalidInput naming the key, and its line if YAML."""
    body, lines = parse_text(given) if isinstance(given, str) else (dict(given), {})
    _check_keys(body, "", lines)
    try:
        return _parse(body)
    except InvalidInput as error:
        key = error.data.get("field")
        line = lines.get(str(key))
        if key is None or line is None:
            raise
        raise InvalidInput(f"{error.message} (line {line})", remedy=error.remedy, field=key, line=line) from error


def _parse(body: dict[str, Any]) -> PushSpec:
    _check_job(body.get("jobType"))
    extra = {**_map(body, "executionFrameworkSpec.extraConfigs"), **_map(body, "pushJobSpec.extraConfigs")}
    for key in extra:
        if key not in _EXTRA:
            raise _bad("executionFrameworkSpec.extraConfigs", f"holds the unknown key '{key}'", f"Known are {', '.join(_EXTRA)}.")
    kind = _text(body, "segmentNameGeneratorSpec.type")
    if kind is not None and kind not in NAME_TYPES:
        raise _bad("segmentNameGeneratorSpec.type", f"'{kind}' is not supported", f"Use one of {', '.join(NAME_TYPES)}.")
    clusters = body.get("pinotClusterSpecs") or []
    if not isinstance(clusters, list) or len(clusters) > 1:
        raise _bad("pinotClusterSpecs", "must name one cluster", "Push to each cluster with a specification of its own.")
    target = _whole({"x": extra.get("segmentTargetRows")}, "x", 0, "executionFrameworkSpec.extraConfigs.segmentTargetRows")
    return PushSpec(
        table=_table(body), input_dir=_input_dir(body), recursive=_flag(body, "searchRecursively", True),
        include=_pattern(body, "includeFileNamePattern"), exclude=_pattern(body, "excludeFileNamePattern"),
        reader=parse_reader(_map(body, "recordReaderSpec"), _map(body, "recordReaderSpec.configs")),
        name_type=kind, name_configs={k: str(v) for k, v in _map(body, "segmentNameGeneratorSpec.configs").items() if v is not None},
        parallelism=_whole(body, "segmentCreationJobParallelism", 0, low=-(2**31)),
        target_rows=target or None, atomic_append=str(extra.get("atomicAppend", "false")).lower() == "true",
        fail_on_empty=_flag(body, "failOnEmptySegment", False), override_checks=str(extra.get("overrideChecks") or ""),
        body=mask({k: v for k, v in body.items() if k != "authToken"}),
    )  # fmt: skip


def _check_keys(body: Mapping[Any, Any], prefix: str, lines: Mapping[str, int]) -> None:
    for key, value in body.items():
        path = f"{prefix}{key}"
        known = _KEYS.get(path)
        where = f" (line {lines[path]})" if path in lines else ""
        if isinstance(known, str):
            if value is not None:
                raise InvalidInput(f"'{path}' is not supported{where}: {known}.", remedy="Remove it.", field=path)
        elif known is None and not any(k.startswith(path + ".") for k in _KEYS):
            raise InvalidInput(f"'{path}' is no key of an ingestion job specification{where}.", remedy=_near(path), field=path)
        elif known is None and value is not None:
            if not isinstance(value, Mapping):
                raise InvalidInput(f"'{path}' must be a map of keys{where}.", field=path)
            _check_keys(value, path + ".", lines)


def _near(path: str) -> str:
    """A suggestion: the known key that differs only in case, else those on the same level."""
    for known in _KEYS:
        if known.lower() == path.lower():
            return f"Write it '{known}'."
    prefix = path.rpartition(".")[0]
    same = sorted({k[len(prefix) :].lstrip(".").partition(".")[0] for k in _KEYS if k.startswith(prefix)})
    return f"Known {'below ' + repr(prefix) if prefix else 'at the top'} are {', '.join(same)}."


def _check_job(value: Any) -> None:
    names = {n.lower(): n for n in (*_PUSHES, *_OTHER_JOBS)}
    name = names.get(str(value).lower()) if value is not None else None
    if name is None:
        text = "is missing" if value is None else f"'{value}' does not exist"
        raise _bad("jobType", text, f"Use {_PUSHES[0]}.")
    if name in _OTHER_JOBS:
        raise _bad("jobType", f"'{name}' is not supported: a push builds and registers segments in one session", f"Use {_PUSHES[0]}.")


def _table(body: dict[str, Any]) -> TableName:
    name = _text(body, "tableSpec.tableName")
    if not name:
        raise _bad("tableSpec.tableName", "is missing", "Name the table to push to.")
    raw, kind = split_table_name(name)
    if kind not in (None, OFFLINE):
        raise _bad("tableSpec.tableName", f"'{name}' is a {kind} table", "Only OFFLINE tables can be pushed to.")
    return TableName(check_raw_table_name(raw), OFFLINE)


def _input_dir(body: dict[str, Any]) -> str:
    text = _text(body, "inputDirURI")
    if not text:
        raise _bad("inputDirURI", "is missing", "Name the folder with the input files.")
    parts = urlsplit(text)
    if parts.scheme not in ("", "file") or parts.netloc:
        raise _bad("inputDirURI", f"'{text}' is no local folder", "Give a path or a file:// URL.")
    return unquote(parts.path) if parts.scheme else text


def _pattern(body: dict[str, Any], path: str) -> str | None:
    text = _text(body, path)
    try:
        return text if not text or parse_pattern(text) else None
    except InvalidInput as error:
        raise _bad(path, error.message, error.remedy) from error


def _at(body: Mapping[str, Any], path: str) -> Any:
    value: Any = body
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _map(body: dict[str, Any], path: str) -> dict[str, Any]:
    value = _at(body, path)
    if value is not None and not isinstance(value, Mapping):
        raise _bad(path, "must be a map of keys", "")
    return dict(value or {})


def _text(body: Mapping[str, Any], path: str) -> str | None:
    value = _at(body, path)
    if value is not None and not isinstance(value, str):
        raise _bad(path, "must be text", "")
    if value and ("\x00" in value or len(value) > _LONGEST_TEXT):
        raise _bad(path, f"holds the character U+0000, or more than {_LONGEST_TEXT} characters", "No path and no name can be that.")
    return value or None


def _flag(body: Mapping[str, Any], path: str, default: bool) -> bool:
    value = _at(body, path)
    if value is None:
        return default
    if str(value).lower() not in ("true", "false"):
        raise _bad(path, "must be true or false", "")
    return str(value).lower() == "true"


def _whole(body: Mapping[str, Any], path: str, default: int, name: str | None = None, *, low: int = 0) -> int:
    value = _at(body, path)
    if value is None:
        return default
    try:
        number = int(str(value)) if not isinstance(value, bool) else None
    except ValueError:
        number = None
    if number is None or number < low:
        raise _bad(name or path, f"must be a whole number from {low} on, not {value!r}", "")
    return number


def _bad(path: str, text: str, remedy: str) -> InvalidInput:
    return InvalidInput(f"'{path}' {text}.".replace("..", "."), remedy=remedy, field=path)
