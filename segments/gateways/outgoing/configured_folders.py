"""Files that a table's config names: only below folders that the installation configures, after all
links are followed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from segments.errors import InvalidInput


def file_below(roots: Sequence[str], given: str, key: str) -> str:
    """The resolved path of ``given`` when it lies below a root; it need not exist here. Raises InvalidInput naming
    ``key``.

    The refusal is the same whether or not there is such a file.
    """
    place = Path(os.path.realpath(given)) if given.startswith("/") and "\0" not in given else None
    if place is None or not any(Path(os.path.realpath(root)) in place.parents for root in roots):
        raise InvalidInput(
            f"'{key}' of the stream config names a file outside the folders for such files.",
            remedy="Have the administrator put the file below a folder of PINOTADMIN_STREAM_FILE_ROOTS, and give its "
            "full path.",
            field=key,
        )
    return str(place)
