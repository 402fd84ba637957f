"""Who is alerted, from when on, and the mail server."""

from __future__ import annotations

from pinotadmin.configuration.given import given
from pinotadmin.configuration.setting_texts import as_bool, number_from, one_of


def _addresses(text: str) -> list[str]:
    return text.replace(",", " ").split()


ALERT_MAIL_TO = given.value("PINOTADMIN_ALERT_MAIL_TO", "", "who gets mail about findings", _addresses)
ALERT_MAIL_SEVERITY = given.value(
    "PINOTADMIN_ALERT_MAIL_SEVERITY", "warning", "from which severity on", one_of("warning", "error")
)
PAUSE_ALERT_HOURS = given.value(
    "PINOTADMIN_PAUSE_ALERT_HOURS",
    "24",
    "hours after which a pause of a table is a finding",
    number_from(1, 100_000),
)
EMAIL_HOST = given.text("PINOTADMIN_MAIL_HOST", "127.0.0.1", "the mail server")
EMAIL_PORT = given.value("PINOTADMIN_MAIL_PORT", "25", "its port", number_from(1, 65_535))
EMAIL_HOST_USER = given.text("PINOTADMIN_MAIL_USER", "", "user of the mail server")
EMAIL_HOST_PASSWORD = given.text("PINOTADMIN_MAIL_PASSWORD", "", "its password", secret=True)
EMAIL_USE_TLS = given.value("PINOTADMIN_MAIL_STARTTLS", "false", "TLS after STARTTLS", as_bool)
EMAIL_USE_SSL = given.value("PINOTADMIN_MAIL_TLS", "false", "TLS from the first byte", as_bool)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = SERVER_EMAIL = given.text("PINOTADMIN_MAIL_FROM", "pinotadmin@localhost", "sender of mail")
