"""A cron expression in plain words, for pages and answers."""

from __future__ import annotations

from typing import Final

from cron_descriptor import Options, get_description
from cron_descriptor.Exception import FormatException

from segments.domain.schedules.quartz import CronExpression


def _options() -> Options:
    options = Options()
    options.day_of_week_start_index_zero = False
    options.use_24hour_time_format = True
    return options


_OPTIONS: Final = _options()


def plain_words(expression: CronExpression) -> str:
    """``every 30 minutes`` for ``0 */30 * * * ?``; the expression itself where there are no words for it."""
    try:
        words = str(get_description(_spelled_out(expression.text), _OPTIONS))
    except FormatException:
        return expression.text
    return words[:1].lower() + words[1:]


def _spelled_out(text: str) -> str:
    """Short forms of Quartz as the library reads them: ``/5`` is ``*/5``, a lone ``L`` is Saturday."""
    words = ["*" + w if w.startswith("/") else w for w in text.upper().replace(",/", ",*/").split()]
    if words[5] == "L":
        words[5] = "7"
    return " ".join(words)
