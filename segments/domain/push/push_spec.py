"""Pinot's ingestion job specification: which keys exist, their defaults, and which of them a push here can honour.

Three kinds of keys: used, accepted without effect (they describe where Pinot's own runners put files or which classes
they load), and refused with the reason. Unknown keys are refused with path and line. Keys and their types are in
``push_model``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import msgspec

from segments.domain.formats.json_model import read_model
from segments.domain.push.file_system import from_pinot_fs_specs, read_file_system
from segments.domain.push.job_text import parse_text
from segments.domain.push.path_pattern import parse_pattern
from segments.domain.push.push_model import (
    REFUSED,
    WITHOUT_EFFECT,
    ExecutionFramework,
    ExtraConfigs,
    JobSpec,
    PushJob,
    RecordReader,
    SegmentNameGenerator,
    dotted_keys,
    keys_of,
)
from segments.domain.push.reader_spec import ReaderSpec, parse_reader
from segments.domain.push.store_uri import is_remote, parse_folder_uri
from segments.domain.tables.secret_masks import mask
from segments.errors import InvalidInput
from segments.names import OFFLINE, TableName, check_raw_table_name, shown, split_table_name

_PUSHES: Final = ("SegmentCreationAndMetadataPush", "SegmentCreationAndTarPush", "SegmentCreationAndUriPush")
_OTHER_JOBS: Final = ("SegmentCreation", "SegmentTarPush", "SegmentUriPush", "SegmentMetadataPush")
NAME_TYPES: Final = ("simple", "normalizedDate", "fixed", "inputFile")

#: The longest path of Linux.
_LONGEST_TEXT: Final = 4096
_EXTRA: Final = "executionFrameworkSpec.extraConfigs"


@dataclass(frozen=True)
class PushSpec:
    """A checked specification. ``input_dir`` is a local path or an address such as ``s3://bucket/folder``, and
    ``file_system`` says how to read that (``input.fs.*`` keys, no secrets among them); ``body`` is the document as
    given, its secrets masked.

    ``target_rows``: rows per segment (ours; None: one segment per file). ``atomic_append``: a push to an APPEND table
    goes through a lineage entry with an empty old side, so that all its segments appear at once (ours).
    ``override_checks``: the reason for which the table's checks may fail (ours). ``strict_snapshot``: the switch of a
    push that replaces the whole table is refused when segments were added since its start (ours).
    """

    table: TableName
    input_dir: str
    file_system: Mapping[str, str]
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
    error_rate: float | None
    strict_snapshot: bool
    body: dict[str, Any] = field(compare=False)


def parse_spec(given: str | Mapping[str, Any]) -> PushSpec:
    """Check a job specification given as YAML or JSON text, or as values. Raises InvalidInput naming the key, and its
    line if YAML.
    """
    body, lines = parse_text(given) if isinstance(given, str) else (dict(given), {})
    try:
        _check_keys(body, JobSpec, "")
        return _spec(read_model(JobSpec, body, "the job specification"), body)
    except InvalidInput as error:
        key = error.data.get("field")
        line = lines.get(str(key))
        if key is None or line is None:
            raise
        raise InvalidInput(f"{error.message} (line {line})", remedy=error.remedy, field=key, line=line) from error


def keys_without_effect(body: Mapping[str, Any]) -> list[str]:
    """Those keys of a specification that change nothing here, by their dotted names."""
    return [key for key in WITHOUT_EFFECT if _value(body, key) is not None]


def _value(body: Any, key: str) -> Any:
    for name in key.split("."):
        body = body.get(name) if isinstance(body, Mapping) else None
    return body


def _spec(job: JobSpec, body: dict[str, Any]) -> PushSpec:
    _check_job(job.job_type)
    extra = _extra(job)
    names = job.segment_name_generator_spec or SegmentNameGenerator()
    kind = _name("segmentNameGeneratorSpec.type", names.type)
    if kind is not None and kind not in NAME_TYPES:
        raise _bad(
            "segmentNameGeneratorSpec.type", f"'{kind}' is not supported", f"Use one of {', '.join(NAME_TYPES)}."
        )
    if len(job.pinot_cluster_specs or ()) > 1:
        raise _bad(
            "pinotClusterSpecs", "must name one cluster", "Push to each cluster with a specification of its own."
        )
    _check_extra(extra)
    return PushSpec(
        table=_table(job),
        input_dir=_input_dir(job),
        file_system=_file_system(job),
        recursive=job.search_recursively is None or bool(job.search_recursively),
        include=_pattern("includeFileNamePattern", job.include_file_name_pattern),
        exclude=_pattern("excludeFileNamePattern", job.exclude_file_name_pattern),
        reader=parse_reader(job.record_reader_spec or RecordReader()),
        name_type=kind,
        name_configs={k: str(v) for k, v in (names.configs or {}).items() if v is not None},
        parallelism=job.segment_creation_job_parallelism or 0,
        target_rows=extra.segment_target_rows or None,
        atomic_append=bool(extra.atomic_append),
        fail_on_empty=bool(job.fail_on_empty_segment),
        override_checks=extra.override_checks or "",
        error_rate=extra.error_rate,
        strict_snapshot=bool(extra.strict_snapshot),
        body=mask({k: v for k, v in body.items() if k != "authToken"}),
    )


def _check_extra(extra: ExtraConfigs) -> None:
    if (extra.segment_target_rows or 0) < 0:
        raise _bad(
            f"{_EXTRA}.segmentTargetRows", "must be a whole number from 0 on", "Leave it out for one segment per file."
        )
    if extra.error_rate is not None and not 0 <= extra.error_rate <= 1:
        raise _bad(
            f"{_EXTRA}.errorRate",
            "must be a number from 0 to 1",
            "0.01 lets one row in a hundred be bad; it is left out.",
        )


def _extra(job: JobSpec) -> ExtraConfigs:
    """Of both places; what stands in ``pushJobSpec`` counts where both give a key."""
    framework, push = job.execution_framework_spec or ExecutionFramework(), job.push_job_spec or PushJob()
    given = [msgspec.structs.asdict(e) for e in (framework.extra_configs, push.extra_configs) if e is not None]
    return ExtraConfigs(**{k: v for values in given for k, v in values.items() if v is not None})


def _check_keys(body: Mapping[Any, Any], model: type[msgspec.Struct], below: str) -> None:
    known = keys_of(model)
    for key, value in body.items():
        path = f"{below}{key}"
        if key not in known:
            raise InvalidInput(
                f"'{path}' is not a key of an ingestion job specification.", remedy=_near(path), field=path
            )
        if path in REFUSED and value is not None:
            raise InvalidInput(f"'{path}' is not supported: {REFUSED[path]}.", remedy="Remove it.", field=path)
        inner = known[key]
        if inner is not None and isinstance(value, Mapping):
            _check_keys(value, inner, f"{path}.")


def _near(path: str) -> str:
    """A suggestion: the known key that differs only in case, else those on the same level."""
    known = list(dotted_keys(JobSpec))
    for name in known:
        if name.lower() == path.lower():
            return f"Write it '{name}'."
    prefix = path.rpartition(".")[0]
    same = sorted({name.rpartition(".")[2] for name in known if name.rpartition(".")[0] == prefix})
    return f"Known {'below ' + repr(prefix) if prefix else 'at the top'} are {', '.join(same)}."


def _check_job(value: str | None) -> None:
    names = {n.lower(): n for n in (*_PUSHES, *_OTHER_JOBS)}
    name = names.get(value.lower()) if value is not None else None
    if name is None:
        text = "is missing" if value is None else f"'{shown(value)}' does not exist"
        raise _bad("jobType", text, f"Use {_PUSHES[0]}.")
    if name in _OTHER_JOBS:
        raise _bad(
            "jobType",
            f"'{name}' is not supported: a push builds and registers segments in one session",
            f"Use {_PUSHES[0]}.",
        )


def _table(job: JobSpec) -> TableName:
    name = _name("tableSpec.tableName", job.table_spec.table_name if job.table_spec else None)
    if not name:
        raise _bad("tableSpec.tableName", "is missing", "Name the table to push to.")
    raw, kind = split_table_name(name)
    if kind not in (None, OFFLINE):
        raise _bad("tableSpec.tableName", f"'{name}' is a {kind} table", "Only OFFLINE tables can be pushed to.")
    return TableName(check_raw_table_name(raw), OFFLINE)


def _input_dir(job: JobSpec) -> str:
    text = _name("inputDirURI", job.input_dir)
    if not text:
        raise _bad("inputDirURI", "is missing", "Name the folder with the input files.")
    if is_remote(text):
        return str(parse_folder_uri(text))
    parts = urlsplit(text)
    if parts.scheme not in ("", "file") or parts.netloc:
        raise _bad("inputDirURI", f"'{text}' is not a local folder", "Give a path or a file:// URL.")
    return unquote(parts.path) if parts.scheme else text


def _file_system(job: JobSpec) -> dict[str, str]:
    """Of the input's scheme, from ``pinotFSSpecs``. A specification is stored, so it may not hold secrets."""
    scheme, found, _ = (job.input_dir or "").partition("://")
    given = from_pinot_fs_specs(job.pinot_fs_specs, scheme) if found and is_remote(str(job.input_dir)) else {}
    if read_file_system(given).has_secrets:
        raise _bad(
            "pinotFSSpecs.configs",
            "holds a secret, which would be stored with the push",
            "Name a login that the administrator keeps (configs.login), or have the workers' environment hold it.",
        )
    return given


def _pattern(path: str, given: str | None) -> str | None:
    text = _name(path, given)
    try:
        return text if not text or parse_pattern(text) else None
    except InvalidInput as error:
        raise _bad(path, error.message, error.remedy) from error


def _name(path: str, value: str | None) -> str | None:
    """A text that becomes a path or a name; nothing for the empty one."""
    if value and ("\x00" in value or len(value) > _LONGEST_TEXT):
        raise _bad(
            path,
            f"holds the character U+0000, or more than {_LONGEST_TEXT} characters",
            "No path and no name can be that.",
        )
    return value or None


def _bad(path: str, text: str, remedy: str) -> InvalidInput:
    return InvalidInput(f"'{path}' {text}.".replace("..", "."), remedy=remedy, field=path)
