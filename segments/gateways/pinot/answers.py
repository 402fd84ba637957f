"""Reads what a Pinot controller answered, or why it did not: values, refusals, faults of the connection."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final

import httpx
import orjson

from segments.gateways.pinot.refusals import DOWN, REFUSED, UNEXPECTED, UNTRUSTED, ControllerFault, PinotRefused

#: Raised before a byte of the request was sent.
NEVER_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
#: Sent by what stands before a controller; whether the controller was asked is unknown.
GATEWAY: Final = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT})
_LONGEST: Final = 1000


def query_params(params: Mapping[str, Any] | list[tuple[str, str]] | None) -> list[tuple[str, str]]:
    """Parameters as Pinot spells them; None is left out, a sequence is repeated."""
    if params is None or isinstance(params, list):
        return list(params or ())
    pairs = []
    for key, value in params.items():
        for one in value if isinstance(value, list | tuple | set | frozenset) else [value]:
            if one is not None:
                pairs.append((key, str(one).lower() if isinstance(one, bool) else str(one)))
    return pairs


def json_value(response: httpx.Response) -> Any:
    """The JSON of an answer, None for an empty one. ControllerFault (unexpected) for what is not JSON."""
    if not response.content.strip():
        return None
    try:
        return orjson.loads(response.content)
    except orjson.JSONDecodeError as error:
        kind = response.headers.get("content-type", "no content type").split(";")[0]
        text = f"{_where(response)} answered no JSON but {kind}."
        raise ControllerFault(
            UNEXPECTED, text, remedy="Check that the address is that of a Pinot controller."
        ) from error


def cluster_of(response: httpx.Response, url: str) -> str:
    """The name in the answer to ``/cluster/info``, which every Pinot since 0.3 has. ControllerFault for all else."""
    if response.status_code == HTTPStatus.FORBIDDEN:
        remedy = "Give the user the right to read, or another user."
        raise ControllerFault(REFUSED, f"{url} does not let our user read: {refusal_text(response)}", remedy=remedy)
    raise_for_status(response)
    found = json_value(response) if response.is_success else None
    name = found.get("clusterName") if isinstance(found, dict) else None
    if not isinstance(name, str) or not name:
        text = f"{url} answered {response.status_code} to /cluster/info, and not as a Pinot controller does."
        raise ControllerFault(UNEXPECTED, text, remedy="Check that the address is that of a Pinot controller.")
    return name


def version_of(found: Any) -> str:
    """The controller's version in the answer to ``/version``; empty when it gives none."""
    if not isinstance(found, dict):
        return ""
    return str(found.get("pinot-controller") or next(iter(found.values()), ""))


def is_page(response: httpx.Response) -> bool:
    """Is it a page for people, as a login or a proxy's error is? No controller answers an API call so."""
    return bool(response.headers.get("content-type", "").startswith("text/html"))


def raise_for(response: httpx.Response) -> None:
    """Nothing for 2xx; PinotRefused, or ControllerFault for 401, a redirect, and what a gateway says."""
    status = response.status_code
    if status < HTTPStatus.MULTIPLE_CHOICES:
        return
    raise_for_status(response)
    raise PinotRefused(status, refusal_text(response), method=response.request.method, path=response.request.url.path)


def raise_for_status(response: httpx.Response) -> None:
    """ControllerFault for statuses that say that the controller cannot be used, whatever was asked."""
    status, where = response.status_code, _where(response)
    if status == HTTPStatus.UNAUTHORIZED:
        remedy = "Correct user and secret with 'cluster change', or in the console."
        raise ControllerFault(REFUSED, f"{where} does not accept our credentials.", remedy=remedy)
    if status in GATEWAY:
        raise ControllerFault(
            DOWN, f"{where} answered {status}.", remedy="Wait until it is up, or check what stands before it."
        )
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        target = response.headers.get("location", "").split("?")[0]
        raise ControllerFault(
            UNEXPECTED, f"{where} sends us on to '{target}'.", remedy="Give the address of the controller itself."
        )


def refusal_text(response: httpx.Response) -> str:
    """Pinot's message: the ``error`` of its JSON, else the text."""
    try:
        found = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        found = None
    if isinstance(found, dict):
        text = found.get("error") or found.get("message") or found.get("_error")
        return str(text or found)[:_LONGEST]
    if is_page(response):
        return f"a page of {len(response.content)} bytes"
    return response.text.strip()[:_LONGEST]


def fault_of(error: httpx.HTTPError, url: str) -> ControllerFault:
    """Why a request failed on its way."""
    tls = next((one for one in _chain(error) if isinstance(one, ssl.SSLError)), None)
    if isinstance(tls, ssl.SSLCertVerificationError):
        text = f"The certificate of {url} is not trusted: {tls.verify_message}."
        return ControllerFault(
            UNTRUSTED, text, remedy="Give the file of its authority (--tls-ca), or correct the host's name."
        )
    if tls is not None:
        text = f"No encrypted connection with {url}: {tls.reason or tls}."
        return ControllerFault(
            UNTRUSTED, text, remedy="Check --tls-cert and --tls-ca, and that the address takes https."
        )
    if isinstance(error, httpx.ConnectTimeout):
        return ControllerFault(
            DOWN, f"{url} cannot be reached.", remedy="Check that it runs and that the network lets us through."
        )
    if isinstance(error, httpx.TimeoutException):
        return ControllerFault(
            DOWN, f"{url} did not answer in time.", remedy="Check its load, or ask for less.", silent=True
        )
    return ControllerFault(
        DOWN, f"{url} does not answer: {error or type(error).__name__}.", remedy="Check that it runs."
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _where(response: httpx.Response) -> str:
    """Without parameters, which may hold what is nobody's business."""
    return str(response.request.url.copy_with(query=None))
