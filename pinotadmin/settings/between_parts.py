"""TLS between the parts of the cluster."""

from __future__ import annotations

from pinotadmin.configuration.given import given
from pinotadmin.configuration.setting_texts import as_file

#: With one, web processes and servers speak TLS, and nothing else.
TLS_CERTIFICATE = given.value(
    "PINOTADMIN_TLS_CERTIFICATE",
    "",
    "PEM file of the certificate that this host's web and server processes show",
    as_file,
)
TLS_KEY = given.value("PINOTADMIN_TLS_KEY", "", "PEM file of its key; empty: in the same file", as_file)
TLS_CA = given.value(
    "PINOTADMIN_TLS_CA", "", "PEM file of the authorities whose certificates the cluster's parts believe", as_file
)
