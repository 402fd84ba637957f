"""One change at a real Pinot with its audit record: done, refused, or in doubt and looked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from segments.clusters.pinot.calls import Doubt, controller, settled
from segments.domain.pinot.refusals import rule_of
from segments.errors import OutcomeUnknown, PinotAdminError
from segments.gateways.pinot import PinotRefused
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.tables.table_secrets import untold_secrets


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
    is_done: Callable[[], object],
    timeout: float | None = None,
    halfway: str = "",
    **detail: Any,
) -> Any:
    """Send ``request`` (method, path); returns Pinot's answer, None when it was lost and ``is_done`` says that the
    change is there.

    What ``is_done`` does not find is sent again, so it must be a change that may be made twice. ``halfway``: the rule
    of a refusal that Pinot answers after it made the change, so that ``is_done`` decides. The outcome is on record in
    any case.
    """

    def send() -> tuple[Any]:
        try:
            with untold_secrets(body):
                return (controller(ctx).send(request[0], request[1], params, body, headers=headers, timeout=timeout),)
        except PinotRefused as error:
            rule = rule_of(error.pinot_status, error.pinot_message)
            if rule is not None and rule.name == halfway:
                raise OutcomeUnknown(error.pinot_message, remedy=rule.remedy) from error
            raise

    def look(doubt: Doubt) -> tuple[Any] | None:
        return (None,) if is_done() else None

    try:
        (answer,) = settled(send, look)
    except PinotAdminError as error:
        outcome = "refused" if error.permanent else "failed"
        audit.record(actor, action, cluster=ctx.cluster, target=target, outcome=outcome, error=str(error), **detail)
        raise
    audit.record(actor, action, cluster=ctx.cluster, target=target, **detail)
    return answer
