"""Types of Python for JSON schemas of the OpenAPI document, and the models that they need."""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SIMPLE: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
#: Names of a parameter that would hide one of Python's own.
_TAKEN: Final = {"type": "type_", "from": "from_", "async": "async_", "all": "all_"}


def snake(name: str) -> str:
    """``segmentsTo`` -> ``segments_to``."""
    plain = _HUMP.sub("_", name).lower()
    return _TAKEN.get(plain, f"{plain}_" if keyword.iskeyword(plain) else plain)


def docstring(text: str, indent: str) -> str:
    """As a docstring at most 120 characters wide."""
    head, _, rest = text.strip().partition("\n\n")
    body = ["\n".join(textwrap.wrap(" ".join(p.split()), 118 - len(indent))) for p in rest.split("\n\n") if p.strip()]
    if not body:
        return textwrap.indent(f'"""{head}"""', indent)
    return textwrap.indent('"""' + "\n\n".join([head, *body]) + '\n"""', indent)


#: Where models stand that more than one group needs.
SHARED: Final = "shared"


class Types:
    """Remembers which models each group of methods uses, so that there are those only, and each has its place."""

    def __init__(self, schemas: Mapping[str, Mapping[str, Any]]) -> None:
        self.schemas = schemas
        #: The group whose methods are being written.
        self.group = "lineage"
        self._used: dict[str, set[str]] = {}
        #: For an answer that may be empty.
        self._use("TableLineage")

    def of(self, schema: Mapping[str, Any], prefix: str = "models.") -> str:
        """The type of a value."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            self._use(name)
            return f"{prefix}{name}"
        if "enum" in schema:
            return f"Literal[{', '.join(repr(v) for v in schema['enum'])}]"
        if "anyOf" in schema:
            return " | ".join(dict.fromkeys(self.of(each, prefix) for each in schema["anyOf"]))
        kind = schema.get("type")
        if kind == "array":
            return f"list[{self.of(schema.get('items', {}), prefix)}]"
        if kind == "object":
            return f"dict[str, {self.of(schema.get('additionalProperties') or {}, prefix)}]"
        return _SIMPLE.get(str(kind), "Any")

    def optional(self, schema: Mapping[str, Any]) -> str:
        """The type of a value that may be left out."""
        found = self.of(schema)
        return found if found.endswith("None") else f"{found} | None"

    def answer(self, operation: Mapping[str, Any]) -> str:
        """The type of what an operation answers; of two shapes the first, for the second is that of a dry run.
        Any: it may be empty.
        """
        contents = [
            content["application/json"]["schema"]
            for response in operation["responses"].values()
            if (content := response.get("content"))
            and "application/json" in content
            and "description" in response
            and "$ref" not in response
        ]
        if not contents:
            return "Any"
        return self.of(contents[0].get("anyOf", contents)[0])

    def _use(self, name: str) -> None:
        groups = self._used.setdefault(name, set())
        if self.group not in groups:
            groups.add(self.group)
            for schema in self.schemas[name]["properties"].values():
                self.of(schema)

    def texts(self, package: str) -> dict[str, str]:
        """{module of ``package``: its models}: those of one group, and the shared ones, which need no others."""
        places = {name: next(iter(g)) if len(g) == 1 else SHARED for name, g in sorted(self._used.items())}
        shared = [name for name, place in places.items() if place == SHARED]
        found = {}
        for place in sorted(set(places.values())):
            lines = "\n".join(line for name in places if places[name] == place for line in self._model(name))
            others = f"from {package}.{SHARED} import {', '.join(shared)}\n" if shared and place != SHARED else ""
            found[place] = f"{_IMPORTS}{others}\n{lines}"
        return {**found, "__init__": _exported(package, places)}

    def _model(self, name: str) -> Iterator[str]:
        schema = self.schemas[name]
        yield f"\n\nclass {name}(Struct, frozen=True, kw_only=True):"
        yield docstring(schema.get("description", name), "    ") + "\n"
        for key, value in schema["properties"].items():
            needed, python = key in schema.get("required", ()), snake(key)
            given = [f'name="{key}"'] if python != key else []
            if not needed:
                default = value.get("default")
                given.insert(0, "default_factory=list" if default == [] else f"default={default!r}")
            yield f"    {python}: {self.of(value, '')}" + (f" = field({', '.join(given)})" if given else "")


_IMPORTS: Final = """
from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field

"""


def _exported(package: str, places: Mapping[str, str]) -> str:
    """All models under one name, wherever they stand."""
    lines = [f"from {package}.{place} import {name}" for name, place in places.items()]
    return "\n".join(["", *lines, "", f"__all__ = {list(places)!r}"])
