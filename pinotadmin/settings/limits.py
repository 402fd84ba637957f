"""Limits of sizes, numbers and times; docs/operations.md lists them with what is answered beyond."""

from __future__ import annotations

from pinotadmin.configuration.given import given
from pinotadmin.configuration.setting_texts import as_bytes, number_from

MAX_UPLOAD_BYTES = given.value(
    "PINOTADMIN_MAX_UPLOAD_BYTES", "5G", "the largest tar of a segment, or file of ingestFromFile", as_bytes
)
MAX_UNPACKED_BYTES = given.value("PINOTADMIN_MAX_UNPACKED_BYTES", "20G", "what a tar may unpack to", as_bytes)
INPUT_UPLOAD_BYTES = given.value(
    "PINOTADMIN_INPUT_UPLOAD_BYTES", "2G", "the largest input file that people send", as_bytes
)
INPUT_UPLOADS_PER_USER_BYTES = given.value(
    "PINOTADMIN_INPUT_UPLOADS_PER_USER_BYTES", "4G", "all input files of one person that are kept", as_bytes
)
INPUT_UPLOADS_BYTES = given.value("PINOTADMIN_INPUT_UPLOADS_BYTES", "20G", "those of everybody", as_bytes)
MAX_BODY_BYTES = given.value("PINOTADMIN_MAX_BODY_BYTES", "20M", "the largest body of any other request", as_bytes)
MAX_UPLOADS_PER_USER = given.value(
    "PINOTADMIN_MAX_UPLOADS_PER_USER",
    "16",
    "large bodies that a web process takes in at once from one user",
    number_from(1),
)
MAX_UPLOADS_BYTES = given.value("PINOTADMIN_MAX_UPLOADS_BYTES", "20G", "bytes of all large bodies at once", as_bytes)
KEPT_FREE_BYTES = given.value("PINOTADMIN_KEPT_FREE_BYTES", "256M", "what uploads leave free on the disk", as_bytes)
#: In one web process, of 64 threads.
MAX_REQUESTS_PER_USER = given.value(
    "PINOTADMIN_MAX_REQUESTS_PER_USER", "48", "requests of one user at work at once", number_from(1)
)
MAX_WAITING_PER_USER = given.value("PINOTADMIN_MAX_WAITING_PER_USER", "512", "how many more wait", number_from(0))
QUERY_MAX_ROWS = given.value(
    "PINOTADMIN_QUERY_MAX_ROWS", "1000000", "LIMIT and OFFSET of a query together", number_from(1)
)
QUERY_MAX_ANSWER_BYTES = given.value(
    "PINOTADMIN_QUERY_MAX_ANSWER_BYTES", "256M", "an answer to a query in memory", as_bytes
)
QUERY_MAX_TIMEOUT_MS = given.value(
    "PINOTADMIN_QUERY_MAX_TIMEOUT_MS", "600000", "longest time of a query in milliseconds", number_from(1)
)
QUERY_MEMORY_BYTES = given.value(
    "PINOTADMIN_QUERY_MEMORY_BYTES", "4G", "memory of the query engine in each process", as_bytes
)
QUERIES_AT_ONCE = given.value(
    "PINOTADMIN_QUERIES_AT_ONCE", "56", "queries that a web process answers at once", number_from(1)
)
QUERIES_PER_USER = given.value("PINOTADMIN_QUERIES_PER_USER", "32", "those of one user", number_from(1))
PUSHES_PER_USER = given.value("PINOTADMIN_PUSHES_PER_USER", "50", "pushes of one user that wait or run", number_from(1))
PUSHES_PER_TABLE = given.value("PINOTADMIN_PUSHES_PER_TABLE", "20", "those of one table", number_from(1))
HISTORY_DAYS = given.value(
    "PINOTADMIN_HISTORY_DAYS",
    "730",
    "days that audit, pushes and findings are kept; 0: for ever",
    number_from(0, 100_000),
)
