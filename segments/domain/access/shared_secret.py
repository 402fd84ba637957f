"""What a secret must be that processes share and a person chose: long enough that nobody who hears a signature finds it
by trying.
"""

from __future__ import annotations

from typing import Final

from segments.errors import InvalidInput

LEAST_CHARACTERS: Final = 32
_LEAST_DISTINCT: Final = 8


def check_shared_secret(name: str, secret: str, where: str = "") -> None:
    """InvalidInput for one that is short, or a few characters repeated. ``name`` is its variable; ``where``: a file
    that it is in.
    """
    if len(secret) < LEAST_CHARACTERS:
        what = f"has {len(secret)} characters; it takes {LEAST_CHARACTERS} at least"
    elif len(set(secret)) < _LEAST_DISTINCT or secret in (secret + secret)[1:-1]:
        what = "is a few characters repeated"
    else:
        return
    remedy = (
        "Make one with: python -c 'import secrets; print(secrets.token_hex(32))'. All processes of the cluster need "
        "the same."
    )
    if where:
        remedy = f"It is on record in {where}: take it out there, and a new one is made at the next start."
    raise InvalidInput(f"The secret {name} {what}.", remedy=remedy, field=name)
