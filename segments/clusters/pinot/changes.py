"""One change at a real Pinot: when its answer is lost its outcome is read before it is sent again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from segments.clusters.pinot.calls import Doubt, controller, settled
from segments.domain.pinot.refusals import rule_of
from segments.errors import OutcomeUnknown
from segments.gateways.pinot import PinotRefused
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.tables.table_secrets import secrets_masked_in_errors


@dataclass(frozen=True)
class Request:
    """What is sent to the controller; ``timeout`` in seconds, None: the connection's own."""

    method: str
    path: str
    params: Mapping[str, Any] | None = None
    body: Any = None
    headers: Mapping[str, str] | None = None
    timeout: float | None = None


def send_change(ctx: Context, request: Request, *, is_done: Callable[[], object], halfway: str = "") -> Any:
    """Pinot's answer; None when it was lost and ``is_done`` finds the change made.

    What ``is_done`` does not find is sent again, so it must be a change that may be made twice. ``halfway``: the rule
    of a refusal that Pinot answers after it made the change, so that ``is_done`` decides.
    """

    def send() -> tuple[Any]:
        try:
            with secrets_masked_in_errors(request.body):
                found = controller(ctx).send(
                    request.method,
                    request.path,
                    request.params,
                    request.body,
                    headers=request.headers,
                    timeout=request.timeout,
                )
                return (found,)
        except PinotRefused as error:
            rule = rule_of(error.pinot_status, error.pinot_message)
            if rule is not None and rule.name == halfway:
                raise OutcomeUnknown(error.pinot_message, remedy=rule.remedy) from error
            raise

    def find(doubt: Doubt) -> tuple[Any] | None:
        return (None,) if is_done() else None

    (answer,) = settled(send, find)
    return answer


def change(
    ctx: Context,
    actor: Actor,
    action: str,
    target: str,
    request: tuple[str, str],
    *,
    params: Mapping[str, Any] | None = None,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    timeout: float | None = None,
    is_done: Callable[[], object],
    halfway: str = "",
    **detail: Any,
) -> Any:
    """``send_change`` with its audit record, for what only a Pinot has and no use case goes around."""
    with audit.recorded(ctx, actor, action, target, **detail):
        return send_change(ctx, Request(*request, params, body, headers, timeout), is_done=is_done, halfway=halfway)
