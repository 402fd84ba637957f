"""What users may name: folders, object stores, streams and receivers, and who may see what without being named."""

from __future__ import annotations

import os

from pinotadmin.configuration.given import given
from pinotadmin.configuration.setting_texts import as_bool, between, number_from, words
from pinotadmin.settings.installation import DATA_DIR
from segments.domain.push.store_uri import split_roots

INPUT_ROOTS = [
    str(DATA_DIR / "input"),
    *given.value(
        "PINOTADMIN_INPUT_ROOTS", "", "folders and addresses that pushes may read, besides DATA_DIR/input", split_roots
    ),
]
INPUT_LOGINS = given.text("PINOTADMIN_INPUT_LOGINS", "", "JSON file with logins to object stores that configs may name")
#: Here and below, empty: this machine, when it serves itself only.
OBJECT_STORE_ROOTS = given.value(
    "PINOTADMIN_OBJECT_STORE_ROOTS", "", "servers of object stores that table configs may name", words
)
STREAM_FILE_ROOTS = given.value(
    "PINOTADMIN_STREAM_FILE_ROOTS", str(DATA_DIR / "stream-files"), "folders of files that stream configs may name",
    between(os.pathsep),
)  # fmt: skip
URI_PUSH_ROOTS = given.value(
    "PINOTADMIN_URI_PUSH_ROOTS", "", "addresses below which URI and metadata pushes may name files", words
)
#: host, host:port or *.domain[:port]
KAFKA_ROOTS = given.value(
    "PINOTADMIN_KAFKA_ROOTS", "", "Kafka brokers that stream configs may name besides KAFKA_BOOTSTRAP", words
)
REDIS_ROOTS = given.value(
    "PINOTADMIN_REDIS_ROOTS", "", "Redis servers that stream configs may name besides REDIS_URL", words
)
REGISTRY_ROOTS = given.value("PINOTADMIN_REGISTRY_ROOTS", "", "schema registries that stream configs may name", words)
WEBHOOK_ROOTS = given.value("PINOTADMIN_WEBHOOK_ROOTS", "", "addresses below which webhooks may lie", words)
#: Otherwise every active user reads all.
READ_BY_GRANT = given.value(
    "PINOTADMIN_READ_BY_GRANT", "false", "reading and querying a table takes a grant for it", as_bool
)
PEOPLE_REMEMBERED_S = given.value(
    "PINOTADMIN_PEOPLE_REMEMBERED_S", "3600", "seconds for which people may query while the database does not answer",
    number_from(0),
)  # fmt: skip
OPEN_METRICS = given.value("PINOTADMIN_OPEN_METRICS", "false", "/metrics without credentials", as_bool)
