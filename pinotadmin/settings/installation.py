"""This installation: its name and address, its secrets, where it keeps state, and how its processes run."""

from __future__ import annotations

import secrets
from importlib.util import find_spec
from pathlib import Path

from pinotadmin import version
from pinotadmin.configuration.address_texts import (
    as_host,
    as_host_list,
    as_node_name,
    as_redis,
    as_store,
    as_zookeeper,
)
from pinotadmin.configuration.given import given
from pinotadmin.configuration.setting_texts import (
    as_bool,
    as_bytes,
    as_log_level,
    as_networks,
    as_path_prefix,
    as_seconds,
    as_spark_master,
    as_time_zone,
    number_from,
    one_of,
)
from pinotadmin.settings.database import database

#: Of this program.
VERSION = version.VERSION
BASE_DIR = Path(__file__).resolve().parents[2]
#: A checkout keeps its data with itself; an installed package has no folder of its own.
_DATA_FOLDER = BASE_DIR / ".pinotadmin" if (BASE_DIR / "manage.py").is_file() else Path.home() / ".pinotadmin"

# -- itself
DATA_DIR = Path(given.text("PINOTADMIN_DATA_DIR", str(_DATA_FOLDER), "folder of all data")).absolute()
CLUSTER_NAME = given.value(
    "PINOTADMIN_CLUSTER", "pinotadmin", "name of the cluster, the root of its znodes", as_node_name
)
HOST = given.value("PINOTADMIN_HOST", "127.0.0.1", "name or address by which others reach the web process", as_host)
PORT = given.value("PINOTADMIN_PORT", "9000", "port of the web process", number_from(0, 65_535))
BIND_HOST = given.value(
    "PINOTADMIN_BIND_HOST", HOST, "address that the web process listens at; 0.0.0.0: all of the machine", as_host
)
TRUSTED_PROXIES = given.value(
    "PINOTADMIN_TRUSTED_PROXIES",
    "",
    "proxies whose X-Forwarded headers are believed, with commas between",
    as_networks,
)
#: What comes before each of our paths: FORCE_SCRIPT_NAME, cookies and static files follow it.
PATH_PREFIX = given.value(
    "PINOTADMIN_PATH_PREFIX", "", "path below which a proxy has all of it, such as /pinot", as_path_prefix
)
WEB_PROCESSES = given.value("PINOTADMIN_WEB_PROCESSES", "1", "web processes behind the one port", number_from(1, 16))
SILENCE_S = given.value(
    "PINOTADMIN_SILENCE_S", "15", "seconds of silence after which `up` restarts a process", as_seconds
)
ZOOKEEPER_HEAP_BYTES = given.value(
    "PINOTADMIN_ZOOKEEPER_HEAP", "2G", "most memory of the embedded ZooKeeper for all znodes", as_bytes
)
LOG_LEVEL = given.value("PINOTADMIN_LOG_LEVEL", "INFO", "from which level on processes write log lines", as_log_level)
LOG_FORMAT = given.value("PINOTADMIN_LOG_FORMAT", "plain", "plain, or json: an object a line", one_of("plain", "json"))

# -- secrets
CLUSTER_SECRET = given.text(
    "PINOTADMIN_CLUSTER_SECRET", "", "with it the cluster's processes sign what they send each other", secret=True
)
#: Without one, sessions end with the process: fit for tests and one-off commands.
_GIVEN_KEY = given.text(
    "PINOTADMIN_SECRET_KEY", "", "signs sessions and forms; the same in every web process", secret=True
)
SECRET_KEY = _GIVEN_KEY or secrets.token_urlsafe(50)
#: What every process of the cluster must have the same of; empty ones were not given.
SHARED_SECRETS = {"PINOTADMIN_CLUSTER_SECRET": CLUSTER_SECRET, "PINOTADMIN_SECRET_KEY": _GIVEN_KEY}
given.text("PINOTADMIN_ADMIN_PASSWORD", "", "password of the first administrator, when it is made", secret=True)

# -- ZooKeeper
ZOOKEEPER_URL = given.value("ZOOKEEPER_URL", "127.0.0.1:2191", "host:port,host:port… of ZooKeeper", as_zookeeper)
#: Our znodes are for this login alone; empty: for everybody.
ZOOKEEPER_AUTH = given.text("ZOOKEEPER_AUTH", "", "digest:USER:PASSWORD, sasl:USER:PASSWORD or x509", secret=True)
ZOOKEEPER_TLS = given.value("ZOOKEEPER_TLS", "false", "TLS to ZooKeeper", as_bool)
ZOOKEEPER_TLS_CA = given.text("ZOOKEEPER_TLS_CA", "", "PEM file of the authorities that sign its certificate")
ZOOKEEPER_TLS_CERT = given.text("ZOOKEEPER_TLS_CERT", "", "PEM file of our own certificate")
ZOOKEEPER_TLS_KEY = given.text("ZOOKEEPER_TLS_KEY", "", "PEM file of its key")
ZOOKEEPER_SESSION_S = given.value(
    "ZOOKEEPER_SESSION_S", "6", "seconds until ZooKeeper takes a silent process for dead",
    number_from(1, 3_600),
)  # fmt: skip
ENTRY_LEASE_S = given.value(
    "PINOTADMIN_ENTRY_LEASE_S", "40", "seconds of silence after which a client with heartbeats is suspected",
    number_from(1, 86_400),
)  # fmt: skip

# -- other parts
REDIS_URL = given.value(
    "REDIS_URL", "redis://127.0.0.1:6390/0", "address of Redis, with its password", as_redis, secret=True
)
KAFKA_BOOTSTRAP = given.value(
    "KAFKA_BOOTSTRAP", "", "Kafka of tables whose stream config names no broker", as_host_list
)
DATABASE = given.value(
    "DATABASE_URL", f"sqlite:///{DATA_DIR}/db.sqlite3", "sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME",
    database, secret=True,
)  # fmt: skip
if DATABASE["ENGINE"] == "pinotadmin.postgresql" and find_spec("psycopg") is None:
    given.refuse(
        "DATABASE_URL",
        "DATABASE_URL names a PostgreSQL, whose driver is not installed: make install EXTRAS=postgres, or"
        " pip install 'pinotadmin[postgres]'.",
    )
SPARK_MASTER = given.value(
    "SPARK_MASTER", "local[*]", "where segments are built: local[*], spark://…, yarn, k8s://…", as_spark_master
)
given.text("PINOTADMIN_SPARK_DRIVER_HOST", "", "where Spark's executors reach the workers of pushes")
given.text("PINOTADMIN_SPARK_DRIVER_BIND_ADDRESS", "", "address that the driver in a worker listens at")
given.text("PINOTADMIN_SPARK_PYTHON", "", "Python on the executors' machines")
given.value("PINOTADMIN_SPARK_UI", "false", "opens Spark's UI, which asks for no login", as_bool)

# -- where segments are kept
#: ``none``: there is no deep store, segments of realtime tables live on servers only.
DEEP_STORE_URL = given.value(
    "DEEP_STORE_URL", f"file://{DATA_DIR}/deepstore", "where segments are kept; none: on servers", as_store
)
DEEP_STORE_ENDPOINT = given.text("DEEP_STORE_ENDPOINT", "", "https://host:port of an S3 or GCS of one's own")
DEEP_STORE_REGION = given.text("DEEP_STORE_REGION", "", "region of the store; empty: what the machine has")
DEEP_STORE_ACCESS_KEY = given.text("DEEP_STORE_ACCESS_KEY", "", "the store's login; empty: what the machine has")
DEEP_STORE_SECRET_KEY = given.text("DEEP_STORE_SECRET_KEY", "", "the secret of that login", secret=True)
#: Pinot's segment.store.root.dir. ``none``: servers do not reach it and upload through the web process.
SEGMENT_STORE_URL = given.value(
    "PINOTADMIN_SEGMENT_STORE_URL", DEEP_STORE_URL, "where servers reach the deep store, when by another address",
    as_store,
)  # fmt: skip
#: Pinot's enableSegmentUploadToController.
UPLOAD_TO_CONTROLLER = given.value(
    "PINOTADMIN_UPLOAD_TO_CONTROLLER", "false", "servers upload what they commit through the web process", as_bool
)
UPLOAD_TIMEOUT_S = given.value(
    "PINOTADMIN_UPLOAD_TIMEOUT_S", "300", "seconds that a commit waits for an upload it cannot do without",
    number_from(1),
)  # fmt: skip
READ_AHEAD_BYTES = given.value(
    "PINOTADMIN_READ_AHEAD_BYTES", "1G", "memory of a server for rows behind commits that take long", as_bytes
)
#: Ten times that for lists, moves and writes.
DEEP_STORE_TIMEOUT_S = given.value(
    "PINOTADMIN_DEEP_STORE_TIMEOUT_S", "30", "seconds that one small call to the deep store may take",
    number_from(1, 86_400),
)  # fmt: skip

# -- schedules of tasks
SCHEDULE_TIME_ZONE = given.value(
    "PINOTADMIN_SCHEDULE_TIME_ZONE", "UTC", "where cron expressions of table configs count that name no time zone",
    as_time_zone,
)  # fmt: skip
