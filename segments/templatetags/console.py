"""How the console writes states, numbers, bytes and times."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from segments.console.cluster_address import cluster_of
from segments.console.presenters.badges import Mark, mark
from segments.console.presenters.bell import Bell
from segments.console.presenters.clusters import ClusterFrame
from segments.console.presenters.clusters import cluster_frame as frame_of
from segments.console.unavailable_operations import (
    UNREACHABLE,
    lacking_here,
    lacks_of,
    queries_unreachable_here,
    unreachable_here,
)
from segments.domain.pinot.capabilities import parse_version
from segments.services.core.page_addresses import address_in, address_of, default_cluster
from segments.services.upkeep.inbox import waiting

register = template.Library()

_BINARY: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEPS: Final = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))
#: Set on a request whose page has shown why its cluster cannot be asked.
_EXPLAINED: Final = "explained_why_unreachable"
_NOTHING: Final = SafeString('<span class="muted">-</span>')


@register.simple_tag
def icon(name: str) -> SafeString:
    """A symbol of icons.svg; decorative: the text next to it says the same."""
    return format_html(
        '<svg class="icon icon-{}" aria-hidden="true"><use href="{}#{}"></use></svg>',
        name,
        static("segments/icons.svg"),
        name,
    )


@register.simple_tag(takes_context=True)
def cluster_frame(context: Any) -> ClusterFrame:
    """The clusters for the frame of the page."""
    request = context["request"]
    if not hasattr(request, "cluster_frame"):
        request.cluster_frame = frame_of(request)
    found: ClusterFrame = request.cluster_frame
    return found


@register.simple_tag(takes_context=True)
def waiting_findings(context: Any) -> Bell:
    """The number at the bell, counted once a page."""
    request = context["request"]
    return Bell(waiting(request.user, cluster_of(request)))


@register.simple_tag
def url_in(cluster: str, page: str, *args: Any) -> str:
    """The address of a page of the named cluster; an empty name: of the installation's own."""
    return address_in(cluster or default_cluster(), page, *args)


@register.simple_tag
def address(path: str) -> str:
    """The address of a path that is no page of the console: ``/api/docs/``."""
    return address_of(path)


@register.simple_tag(takes_context=True)
def lacking(context: Any, *capabilities: str) -> str:
    """Why the page's cluster cannot do the first of these that it lacks; empty when it can do all."""
    return lacking_here(context["request"], *capabilities)


@register.simple_tag(takes_context=True)
def cluster_lacks(context: Any) -> tuple[list[tuple[str, str]], list[tuple[str, str]]] | None:
    """(what, why) of everything that the page's cluster lacks: without another way, and with one."""
    return lacks_of(context["request"])


@register.simple_tag(takes_context=True)
def unreachable(context: Any, kind: str = "change") -> str:
    """Why this cannot be asked of the page's cluster now, empty when it can. ``kind``: change, reading (its ZooKeeper
    would do), query.
    """
    request = context["request"]
    return (
        queries_unreachable_here(request)
        if kind == "query"
        else unreachable_here(request, is_reading=kind == "reading")
    )


@register.simple_tag(takes_context=True)
def why_unreachable(context: Any, kind: str = "change") -> SafeString:
    """The reason, once a page: what ``act`` shows disabled is described by it."""
    request, why = context["request"], unreachable(context, kind)
    if not why or hasattr(request, _EXPLAINED):
        return SafeString("")
    setattr(request, _EXPLAINED, True)
    return format_html('<span class="why" id="why-unreachable">{}</span>', why)


@register.simple_tag(takes_context=True)
def act(
    context: Any,
    text: str,
    address: str = "",
    *,
    submit: str | None = None,
    kind: str = "",
    symbol: str = "",
    ident: str = "",
    needs: str = "change",
) -> SafeString:
    """A button that leads to an operation, disabled while the page's cluster cannot do it. ``kind``: main,
    small or danger.

    ``submit``: it submits the form around it instead, to that address or, when empty, to the form's own. ``needs`` as
    ``kind`` of ``unreachable``.
    """
    classes = f"button button-{kind}" if kind else "button"
    shown = format_html("{} {}", icon(symbol), text) if symbol else text
    named = format_html(' id="{}"', ident) if ident else ""
    if unreachable(context, needs):
        return format_html(
            '<button class="{}" type="button" disabled aria-describedby="why-unreachable">{}</button>', classes, shown
        )
    if submit is None:
        return format_html('<a class="{}" href="{}"{}>{}</a>', classes, address, named, shown)
    goes = format_html(' formaction="{}"', submit) if submit else ""
    return format_html('<button class="{}" type="submit"{}{}>{}</button>', classes, goes, named, shown)


@register.filter
def short_version(text: str) -> str:
    """The version without the hash of its build; what cannot be read as it is."""
    return str(parse_version(text) or text or "")


@register.filter
def unreachable_words(state: str) -> str:
    """What a cluster in this state does, after its name."""
    return "is down" if state == "down" else UNREACHABLE.get(state, "")


@register.filter
def badge(state: Mark | str) -> SafeString:
    """State as icon and word in its tone."""
    shown = state if isinstance(state, Mark) else mark(state)
    return format_html('<span class="badge badge-{}">{}{}</span>', shown.tone, icon(shown.icon), shown.text)


@register.filter
def count(value: int | None) -> SafeString:
    """1,234 as it is; from a million on 1.23 M with the exact number on hover."""
    if value is None:
        return _NOTHING
    exact = f"{int(value):,}"
    for size, sign in ((10**12, "T"), (10**9, "G"), (10**6, "M")):
        if abs(value) >= size:
            return format_html('<span title="{}">{} {}</span>', exact, f"{value / size:.2f}", sign)
    return format_html("{}", exact)


@register.filter(name="counted")
def counted_things(value: int | None, noun: str) -> SafeString:
    """The number and the noun in the singular or plural: 1 row, 1,234 rows, 1.23 M rows."""
    return format_html("{} {}{}", count(value), noun, "" if value == 1 else "s")


@register.filter
def signed(value: int | None) -> SafeString:
    """+1,234 or -1,234 (with a real minus sign), exact."""
    if value is None:
        return _NOTHING
    return format_html("{}", "±0" if value == 0 else f"{value:+,}".replace("-", "\N{MINUS SIGN}"))


@register.filter
def size(value: int | None) -> SafeString:
    """Bytes in binary units, the exact number on hover."""
    if value is None:
        return _NOTHING
    amount, unit = float(value), _BINARY[0]
    for unit in _BINARY:
        if abs(amount) < 1024 or unit == _BINARY[-1]:
            break
        amount /= 1024
    text = f"{amount:.0f} {unit}" if unit == "B" or abs(amount) >= 100 else f"{amount:.1f} {unit}"
    return format_html('<span title="{} bytes">{}</span>', f"{int(value):,}", text.replace("-", "\N{MINUS SIGN}"))


@register.filter
def seconds(value: float | None) -> SafeString:
    """0.4 s, 12 s, 3 min 20 s, 2 h 5 min."""
    if value is None:
        return _NOTHING
    if value < 10:
        return format_html("{} s", f"{value:.1f}")
    return format_html("{}", _span(value, parts=2))


@register.filter
def millis(value: float | None) -> SafeString:
    """A span in milliseconds: 12 ms, 3.4 s, 3 min 20 s."""
    if value is None:
        return _NOTHING
    return format_html("{} ms", f"{value:.0f}") if value < 1000 else seconds(value / 1000)


@register.filter
def moment(value: datetime | int | None) -> SafeString:
    """A time (or epoch ms): ISO text in the person's zone, followed by how long ago."""
    when = _datetime(value)
    if when is None:
        return _NOTHING
    iso = _text(when)
    return format_html('<time datetime="{}">{} <span class="ago">{}</span></time>', _iso(when), iso, relative(when))


@register.filter
def ago(value: datetime | int | None) -> SafeString:
    """How long ago (or in how long), the time in the person's zone on hover."""
    when = _datetime(value)
    if when is None:
        return _NOTHING
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        _iso(when),
        f"{_text(when)} {timezone.localtime(when):%Z}",
        relative(when),
    )


@register.filter
def stamp(value: datetime | int | None) -> SafeString:
    """Only the ISO text in the person's zone; for data times, whose distance to now says nothing."""
    when = _datetime(value)
    return _NOTHING if when is None else format_html('<time datetime="{}">{}</time>', _iso(when), _text(when))


def relative(when: datetime) -> str:
    """``3 min ago``, ``in 2 h``, ``now``."""
    distance = (timezone.now() - when).total_seconds()
    if abs(distance) < 1:
        return "now"
    return f"{_span(distance, parts=1)} ago" if distance > 0 else f"in {_span(-distance, parts=1)}"


def _span(value: float, parts: int) -> str:
    left = int(value)
    words: list[str] = []
    for step, unit in _STEPS:
        if left >= step and len(words) < parts:
            words.append(f"{left // step} {unit}")
            left %= step
    return " ".join(words) or "0 s"


def _datetime(value: Any) -> datetime | None:
    if value is None or value == "":
        return None
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    try:
        return datetime.fromtimestamp(int(value) / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _text(when: datetime) -> str:
    """In the zone that is active: the person's on pages, else UTC."""
    return timezone.localtime(when).strftime("%Y-%m-%d %H:%M:%S")


def _iso(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")
