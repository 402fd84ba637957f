"""The values of this process: from the environment, else from the file that PINOTADMIN_CONFIG names, else the default.

Every module of ``pinotadmin.settings`` declares its values through ``given``, so that what there is, where it came from
and what is wrong with it can be listed (``config show``, ``config check``).
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from django.core.exceptions import ImproperlyConfigured

from pinotadmin.configuration.setting_texts import WrongText

#: Names the file.
FILE: Final = "PINOTADMIN_CONFIG"
#: What names of ours begin with; every such name in the environment is one of ours or a mistake.
PREFIX: Final = "PINOTADMIN_"
#: Set by our own processes for one another.
INTERNAL: Final = frozenset({"PINOTADMIN_PROCESS", "PINOTADMIN_WARM_SPARK", "PINOTADMIN_CACHE"})
#: Of the systemd unit: more options of its role's command.
UNIT: Final = frozenset({"PINOTADMIN_RUN_OPTIONS"})
#: Of the REST client's commands.
CLIENT: Final = frozenset({"PINOTADMIN_URL", "PINOTADMIN_TOKEN", "PINOTADMIN_CREDENTIALS"})
_T = TypeVar("_T")


@dataclass(frozen=True)
class Setting:
    """One value: the text it was read from, where that stands (``default``, ``environment`` or the file), and what is
    wrong with it (empty: nothing).
    """

    name: str
    text: str
    source: str
    purpose: str
    is_secret: bool
    problem: str = ""


class Given:
    """Reads settings and keeps a list of them. ``environ`` gets what only the file has: children and libraries read it
    there.
    """

    def __init__(self, environ: MutableMapping[str, str]) -> None:
        self._environ = environ
        self._from_file: frozenset[str] = frozenset()
        self.file = environ.get(FILE, "")
        self.settings: dict[str, Setting] = {}
        #: Wrong texts stop the process, unless somebody wants the list of all of them.
        self.stops_at_problems = True
        if self.file:
            self._take_file(Path(self.file))

    def text(self, name: str, default: str, purpose: str, *, secret: bool = False) -> str:
        """The value of a setting that may be any text; an empty one counts as none."""
        return self.value(name, default, purpose, str, secret=secret)

    def value(self, name: str, default: str, purpose: str, read: Callable[[str], _T], *, secret: bool = False) -> _T:
        """The value of a setting; an empty text counts as none. Raises ImproperlyConfigured for a text that ``read``
        refuses.
        """
        text = self._environ.get(name) or ""
        source = self._source(name) if text else "default"
        try:
            found = read(text or default)
        except WrongText as error:
            problem = f"{name} must be {error}."
            self.problem(problem)
            self.settings[name] = Setting(name, text, source, purpose, secret, problem)
            return read(default)
        self.settings[name] = Setting(name, text or default, source, purpose, secret)
        return found

    def problem(self, message: str) -> None:
        """Something is wrong: raises ImproperlyConfigured, unless problems are collected."""
        if self.stops_at_problems:
            raise ImproperlyConfigured(message)

    def refuse(self, name: str, message: str) -> None:
        """A value that can be read is wrong all the same, for what another one says."""
        self.problem(message)
        old = self.settings[name]
        self.settings[name] = Setting(old.name, old.text, old.source, old.purpose, old.is_secret, message)

    def unknown(self) -> list[tuple[str, str]]:
        """Names in the environment or the file that look like ours and are none, each with the nearest that is."""
        known = {*self.settings, *INTERNAL, *UNIT, *CLIENT, FILE}
        names = {n for n in self._environ if n.startswith(PREFIX)} | self._from_file
        nearest = {name: difflib.get_close_matches(name, known, 1) for name in names - known}
        return sorted((name, found[0] if found else "") for name, found in nearest.items())

    def _source(self, name: str) -> str:
        return self.file if name in self._from_file else "environment"

    def _take_file(self, path: Path) -> None:
        values = read_file(path)
        self._from_file = frozenset(name for name in values if not self._environ.get(name))
        for name in self._from_file:
            self._environ[name] = values[name]


def read_file(path: Path) -> Mapping[str, str]:
    """The settings of a TOML file (``NAME = value``), as the environment would have them.

    Raises ImproperlyConfigured when it cannot be read, or holds more than texts, numbers and true or false.
    """
    try:
        content = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(f"{FILE}: {path} cannot be read: {error}.") from error
    except tomllib.TOMLDecodeError as error:
        raise ImproperlyConfigured(f"{FILE}: {path} is not TOML: {error}.") from error
    for name, value in content.items():
        if not isinstance(value, str | int):
            raise ImproperlyConfigured(
                f'{FILE}: {name} in {path} must be a text, a number, true or false: {name} = "...".'
            )
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in content.items()}


given: Final = Given(os.environ)
