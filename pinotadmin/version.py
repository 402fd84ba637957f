"""The version of this program: what `pinotadmin --version`, `/version` and the package name."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.2.0"
