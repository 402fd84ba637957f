"""Headers of answers that are data and no page: whatever a browser makes of them, nothing in them runs, loads or is
kept.
"""

from __future__ import annotations

from typing import Final

#: Nothing at all may run or load, and no page may frame it.
DATA_POLICY: Final = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
#: What no page of ours uses.
PERMISSIONS: Final = (
    "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), publickey-credentials-get=(), usb=()"
)
DATA_HEADERS: Final[dict[str, str]] = {
    "Content-Security-Policy": DATA_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": PERMISSIONS,
    "Cache-Control": "no-store",
}
