"""The code that executors of a Spark cluster need, as one archive that travels with the job: all but Django and what
stands on it.
"""

from __future__ import annotations

import tempfile
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).resolve().parents[1]
#: What reading files and building segments imports; the packages next to them run on the machines of the installation.
_PARTS: Final = (
    "datatypes", "domain", "errors.py", "expressions", "gateways", "names.py", "secret_texts.py", "segmentfile",
    "spark",
)  # fmt: skip
#: The oldest time that an archive can hold: the same code gives the same bytes.
_TIME: Final = (1980, 1, 1, 0, 0, 0)


@lru_cache(maxsize=1)
def shipped_code() -> str:
    """The path of the archive, made once in each process."""
    folder = Path(tempfile.mkdtemp(prefix="pinotadmin-code-"))
    target = folder / "pinotadmin-code.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in [_PACKAGE / "__init__.py", *_files()]:
            name = f"{_PACKAGE.name}/{file.relative_to(_PACKAGE).as_posix()}"
            archive.writestr(zipfile.ZipInfo(name, _TIME), file.read_bytes(), zipfile.ZIP_DEFLATED)
    return str(target)


def _files() -> list[Path]:
    found: list[Path] = []
    for part in _PARTS:
        place = _PACKAGE / part
        found += [place] if place.is_file() else sorted(place.rglob("*.py"))
    return found
