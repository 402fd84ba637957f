"""The installation's TLS between its parts, as the settings name it."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings

from segments.gateways.tls.certificate import Certificate
from segments.gateways.tls.trust import Trust


def own_certificate() -> Certificate | None:
    """What web processes and servers of this host show; None: they speak no TLS."""
    return Certificate(settings.TLS_CERTIFICATE, settings.TLS_KEY) if settings.TLS_CERTIFICATE else None


def own_trust() -> Trust:
    """Whom this process believes that speaks TLS."""
    return _trust(settings.TLS_CA)


def check_tls(host: str | None) -> None:
    """InvalidInput when others would not believe that we are ``host``, or (None: nobody calls us) when the authorities'
    file is none.
    """
    certificate = own_certificate() if host is not None else None
    if certificate is not None:
        certificate.check(str(host), own_trust())
    _ = own_trust().context


@lru_cache(maxsize=4)
def _trust(authorities: str) -> Trust:
    return Trust(authorities)
