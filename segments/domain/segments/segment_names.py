"""Names of pushed segments, as Pinot's name generators make them, without clock or chance."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from segments.domain.formats.user_regex import UserRegex, user_regex
from segments.errors import InvalidInput
from segments.names import check_segment_name

_GROUP: Final = re.compile(r"\$\{filePathPattern:\\?([0-9]{1,4})\}")
#: Of times that are text, such as 31/12/2024 23:59: Pinot refuses to name segments by these.
_NOT_IN_NAMES: Final = re.compile(r"""[\\/:*?"<>|,\x00-\x1f]""")
_WITHOUT_POSTFIX: Final = ("fixed", "inputFile")


@dataclass(frozen=True)
class NameRule:
    """How to name the segments of one push; ``postfix`` carries a consistent push's start time. Travels to the
    executors as JSON.

    ``seed`` stands for the push where a name ends in a UUID.
    """

    type: str
    table: str
    configs: Mapping[str, str]
    postfix: str | None = None
    is_append: bool = False
    hourly: bool = False
    has_time: bool = False
    seed: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**self.__dict__, "configs": dict(self.configs)}


@dataclass(frozen=True)
class Facts:
    """What a name may hold: sequence id (from 0, below 0: none), path of the input file, first and last time of the
    rows.

    ``low``/``high`` are values of the time column as stored, ``low_ms``/``high_ms`` the same in epoch milliseconds;
    None without rows.
    """

    sequence: int
    path: str
    low: object = None
    high: object = None
    low_ms: int | None = None
    high_ms: int | None = None


def make_rule(
    kind: str | None,
    table: str,
    configs: Mapping[str, str],
    *,
    start_ms: int | None,
    is_append: bool,
    frequency: str | None,
    has_time: bool,
    seed: str = "",
    unique: str = "",
) -> NameRule:
    """The rule of one push. ``start_ms`` is given for a consistent push and becomes the postfix, after one that is
    configured.

    ``unique`` becomes the postfix of a push that adds rows and asks for no generator: none of its names was given
    before.

    Raises InvalidInput for a generator that could give a second snapshot the names of the first (W16), or that lacks a
    key.
    """
    name = kind or ("fixed" if configs.get("segment.name") else "simple")
    if start_ms is not None and name in _WITHOUT_POSTFIX:
        raise _bad(
            "type",
            f"'{name}' gives every push the same names, which a consistent push cannot use",
            "Use simple or normalizedDate.",
        )
    if name == "fixed" and not configs.get("segment.name"):
        raise _bad("configs", "needs 'segment.name' for the fixed generator", "")
    if name == "inputFile" and not (configs.get("file.path.pattern") and configs.get("segment.name.template")):
        raise _bad("configs", "needs 'file.path.pattern' and 'segment.name.template' for the inputFile generator", "")
    if name == "inputFile":
        _filled(configs["segment.name.template"], [""] * (_path_pattern(configs).groups + 1))
    given = configs.get("segment.name.postfix")
    own = unique if start_ms is None and is_append and kind is None and not configs else ""
    postfix = "_".join(p for p in (given, str(start_ms) if start_ms is not None else None, own) if p) or None
    return NameRule(name, table, configs, postfix, is_append, str(frequency or "").lower() == "hourly", has_time, seed)


def session_rule(raw_table: str, session_id: str) -> NameRule:
    """The rule of a file ingestion session."""
    return NameRule("session", raw_table, {}, seed=session_id)


def names_without_rows(rule: NameRule, parts: Sequence[tuple[int, str]]) -> list[str]:
    """The names of parts (sequence id, path of the first file) as far as they do not depend on the rows; [] where they
    do.
    """
    is_timed = rule.has_time and not _is_true(rule.configs, "exclude.time.in.segment.name")
    if (rule.type == "simple" and is_timed) or (rule.type == "normalizedDate" and rule.is_append):
        return []
    return list(dict.fromkeys(segment_name(rule, Facts(sequence, path)) for sequence, path in parts))


def segment_name(rule: NameRule, facts: Facts) -> str:
    """The name. Raises InvalidInput when the generator needs what is not there, or the result is not an
    allowed name.
    """
    makers = {
        "simple": _simple,
        "normalizedDate": _normalized,
        "fixed": _fixed,
        "inputFile": _input_file,
        "session": _of_session,
    }
    return check_segment_name(makers[rule.type](rule, facts))


def _simple(rule: NameRule, facts: Facts) -> str:
    timed = rule.has_time and facts.low is not None and not _is_true(rule.configs, "exclude.time.in.segment.name")
    times = [_NOT_IN_NAMES.sub("-", str(time)) for time in (facts.low, facts.high)] if timed else []
    return _joined(
        rule.table, *times, rule.postfix, facts.sequence if facts.sequence >= 0 else None, _uuid(rule, facts)
    )


def _normalized(rule: NameRule, facts: Facts) -> str:
    prefix = (rule.configs.get("segment.name.prefix") or "").strip() or rule.table
    dates: list[str] = []
    if rule.is_append:
        if facts.low_ms is None or facts.high_ms is None:
            word = "minTimeValue" if facts.low_ms is None else "maxTimeValue"
            raise InvalidInput(
                f"Missing {word} for normalizedDate segment name generator of '{facts.path}'.",
                remedy="Use type simple.",
            )
        dates = [_date(v, rule.hourly) for v in (facts.low_ms, facts.high_ms)]
    postfix = (rule.postfix or "").strip() or None
    return _joined(prefix, *dates, postfix, None if _is_true(rule.configs, "exclude.sequence.id") else facts.sequence,
                   _uuid(rule, facts))  # fmt: skip


def _uuid(rule: NameRule, facts: Facts) -> str | None:
    """The UUID that ``append.uuid.to.segment.name`` asks for, computed from push and file.

    Pinot draws it by chance, so that a part that is built a second time gets a second name; this one stays the same
    within a push.
    """
    if not _is_true(rule.configs, "append.uuid.to.segment.name"):
        return None
    digest = hashlib.sha256("\n".join((rule.seed, rule.table, facts.path, str(facts.sequence))).encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"


def _fixed(rule: NameRule, _: Facts) -> str:
    return rule.configs["segment.name"]


def _of_session(rule: NameRule, facts: Facts) -> str:
    """Table, session, file and the segment's number within the file: the same again when the file is read again."""
    digest = hashlib.sha1(facts.path.encode(), usedforsecurity=False).hexdigest()
    return _joined(rule.table, rule.seed, digest[:12], facts.sequence)


def _input_file(rule: NameRule, facts: Facts) -> str:
    parts = _path_pattern(rule.configs).parts(facts.path)
    if parts is None:
        return facts.path.lstrip("/").replace("/", "_").replace(".", "_")
    return _filled(rule.configs["segment.name.template"], parts)


def _path_pattern(configs: Mapping[str, str]) -> UserRegex:
    try:
        return user_regex(configs["file.path.pattern"])
    except InvalidInput as error:
        raise _bad(
            "configs", f"holds a 'file.path.pattern' that cannot be used: {error.message}", error.remedy
        ) from error


def _filled(template: str, parts: Sequence[str]) -> str:
    """The template with ``${filePathPattern:\\1}`` replaced by the parts of a path. Raises InvalidInput for a group
    that is not there.
    """

    def part(found: re.Match[str]) -> str:
        if int(found[1]) >= len(parts):
            raise _bad(
                "configs",
                f"has a 'segment.name.template' with group {found[1]}, but 'file.path.pattern' has {len(parts) - 1}",
                "",
            )
        return parts[int(found[1])]

    return _GROUP.sub(part, template)


def _date(ms: int, hourly: bool) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d-%H" if hourly else "%Y-%m-%d")


def _joined(*parts: object) -> str:
    return "_".join(str(p).strip() for p in parts if p is not None and str(p) != "")


def _is_true(configs: Mapping[str, str], key: str) -> bool:
    return configs.get(key, "false").lower() == "true"


def _bad(key: str, text: str, remedy: str) -> InvalidInput:
    path = f"segmentNameGeneratorSpec.{key}"
    return InvalidInput(f"'{path}' {text}.", remedy=remedy, field=path)
