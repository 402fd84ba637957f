"""Arrow's compute functions, untyped: the published stubs reject valid calls (no overload takes plain numbers)."""

from __future__ import annotations

from typing import Any

import pyarrow.compute

pc: Any = pyarrow.compute
