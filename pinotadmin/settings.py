"""Every setting, its default and unit. Values come from the environment; odd values stop the process with a clear
message.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo

import django_htmx
from django.core.exceptions import ImproperlyConfigured

from pinotadmin import log_lines
from segments.domain.jobs.workers import pools
from segments.domain.push.store_uri import split_roots

BASE_DIR = Path(__file__).resolve().parent.parent


def _text(name: str, default: str) -> str:
    return os.environ.get(name) or default


def _int(name: str, default: int) -> int:
    text = os.environ.get(name)
    try:
        return int(text) if text else default
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {text!r}.") from error


def _choice(name: str, default: str, allowed: tuple[str, ...]) -> str:
    text = os.environ.get(name) or default
    if text not in allowed:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(allowed)}, not {text!r}.")
    return text


def _positive(name: str, default: int) -> int:
    number = _int(name, default)
    if number < 1:
        raise ImproperlyConfigured(f"{name} must be 1 or more, not {number}.")
    return number


def _bytes(name: str, default: str) -> int:
    """``512M``, ``20G``, or plain bytes."""
    text = (os.environ.get(name) or default).strip().upper().removesuffix("B").removesuffix("I")
    unit = {"K": 10, "M": 20, "G": 30, "T": 40}.get(text[-1:], 0)
    digits = text[:-1] if unit else text
    if not digits.isdecimal():
        raise ImproperlyConfigured(f"{name} must be a number of bytes such as 512M or 20G, not {text!r}.")
    return int(digits) << unit


def _bool(name: str, default: bool) -> bool:
    text = os.environ.get(name, "").lower()
    if text in ("", "true", "false", "1", "0"):
        return {"": default, "true": True, "1": True}.get(text, False)
    raise ImproperlyConfigured(f"{name} must be true or false, not {text!r}.")


def _names(name: str) -> frozenset[str]:
    return frozenset(part.strip() for part in os.environ.get(name, "").split(";") if part.strip())


def _time_zone(name: str, default: str) -> str:
    text = _text(name, default)
    try:
        ZoneInfo(text)
    except (KeyError, OSError, ValueError) as error:
        raise ImproperlyConfigured(f"{name} must be a time zone such as UTC or Europe/Berlin, not {text!r}.") from error
    return text


def _database(url: str) -> dict[str, object]:
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": unquote(parts.path) if parts.path else ":memory:",
            # A file also in tests: threads that share an in-memory database lock one another out.
            "TEST": {"NAME": os.path.join(tempfile.gettempdir(), f"pinotadmin-test-{os.getpid()}.sqlite3")},
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            },
        }
    if parts.scheme in ("postgres", "postgresql"):
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": parts.path.lstrip("/"),
            "USER": unquote(parts.username or ""),
            "PASSWORD": unquote(parts.password or ""),
            "HOST": parts.hostname or "",
            "PORT": str(parts.port or ""),
        }
    raise ImproperlyConfigured("DATABASE_URL must begin with sqlite:// or postgresql://.")


# -- this installation
DATA_DIR = Path(_text("PINOTADMIN_DATA_DIR", str(BASE_DIR / ".pinotadmin"))).absolute()
CLUSTER_NAME = _text("PINOTADMIN_CLUSTER", "pinotadmin")
HOST = _text("PINOTADMIN_HOST", "127.0.0.1")
PORT = _int("PINOTADMIN_PORT", 9000)
#: The address that the web process listens at: 0.0.0.0 is every address of the machine, which then is known to others
#: by HOST.
BIND_HOST = _text("PINOTADMIN_BIND_HOST", HOST)
#: Secret of the cluster's own processes; empty: they can not talk to one another.
CLUSTER_SECRET = _text("PINOTADMIN_CLUSTER_SECRET", "")
#: Folders and addresses (s3://bucket/prefix) that pushes and ingestion sessions may read, besides DATA_DIR/input.
INPUT_ROOTS = [str(DATA_DIR / "input"), *split_roots(_text("PINOTADMIN_INPUT_ROOTS", ""))]
#: A JSON file with logins to object stores that configs of tables may name; empty: there are none.
INPUT_LOGINS = _text("PINOTADMIN_INPUT_LOGINS", "")
#: Servers of object stores that configs of tables may name (https://minio.example:9000), separated by spaces; empty:
#: this machine, when it serves itself only.
OBJECT_STORE_ROOTS = _text("PINOTADMIN_OBJECT_STORE_ROOTS", "").split()
#: Folders below which stream configs may name files, such as certificates; DATA_DIR/stream-files when none is given.
STREAM_FILE_ROOTS = [
    p for p in _text("PINOTADMIN_STREAM_FILE_ROOTS", str(DATA_DIR / "stream-files")).split(os.pathsep) if p
]
#: Addresses below which URI and metadata pushes may name files, separated by spaces; empty: this machine, when it
#: serves itself only.
URI_PUSH_ROOTS = _text("PINOTADMIN_URI_PUSH_ROOTS", "").split()
#: What stream configs may name besides the installation's own Kafka and Redis: host, host:port or *.domain[:port],
#: separated by spaces, and addresses for registries; empty as above.
KAFKA_ROOTS = _text("PINOTADMIN_KAFKA_ROOTS", "").split()
REDIS_ROOTS = _text("PINOTADMIN_REDIS_ROOTS", "").split()
REGISTRY_ROOTS = _text("PINOTADMIN_REGISTRY_ROOTS", "").split()
#: Addresses below which webhooks may lie, separated by spaces; empty as above.
WEBHOOK_ROOTS = _text("PINOTADMIN_WEBHOOK_ROOTS", "").split()
ZOOKEEPER_URL = _text("ZOOKEEPER_URL", "127.0.0.1:2191")
#: ``digest:USER:PASSWORD``, ``sasl:USER:PASSWORD`` or ``x509``: our znodes are then for this login alone; empty: for
#: everybody.
ZOOKEEPER_AUTH = _text("ZOOKEEPER_AUTH", "")
#: TLS to ZooKeeper; PEM files of the authorities that sign its certificate, and of our own certificate with its key.
ZOOKEEPER_TLS = _bool("ZOOKEEPER_TLS", False)
ZOOKEEPER_TLS_CA = _text("ZOOKEEPER_TLS_CA", "")
ZOOKEEPER_TLS_CERT = _text("ZOOKEEPER_TLS_CERT", "")
ZOOKEEPER_TLS_KEY = _text("ZOOKEEPER_TLS_KEY", "")
#: Seconds until ZooKeeper takes a silent process for dead.
ZOOKEEPER_SESSION_S = _int("ZOOKEEPER_SESSION_S", 6)
#: Seconds of silence after which a replacement whose client sends heartbeats is suspected to be given up.
ENTRY_LEASE_S = _int("PINOTADMIN_ENTRY_LEASE_S", 40)
REDIS_URL = _text("REDIS_URL", "redis://127.0.0.1:6390/0")
#: Kafka of tables whose stream config names no broker; empty: there is none.
KAFKA_BOOTSTRAP = _text("KAFKA_BOOTSTRAP", "")
#: ``none``: there is no deep store, segments of realtime tables live on servers only.
DEEP_STORE_URL = _text("DEEP_STORE_URL", f"file://{DATA_DIR}/deepstore")
#: Where servers reach the deep store, when by another address than the other processes (a mount, say): Pinot's
#: segment.store.root.dir. ``none``: servers do not reach it and upload through the web process.
SEGMENT_STORE_URL = _text("PINOTADMIN_SEGMENT_STORE_URL", DEEP_STORE_URL)
#: Servers upload what they commit through the web process, unless a table says otherwise: Pinot's
#: enableSegmentUploadToController.
UPLOAD_TO_CONTROLLER = _bool("PINOTADMIN_UPLOAD_TO_CONTROLLER", False)
#: Seconds that a commit waits for an upload it can not do without.
UPLOAD_TIMEOUT_S = _positive("PINOTADMIN_UPLOAD_TIMEOUT_S", 300)
#: Memory of a server for rows behind segments whose commit takes long, beyond one segment per partition.
READ_AHEAD_BYTES = _bytes("PINOTADMIN_READ_AHEAD_BYTES", "1G")
#: Seconds that one small call to it may take; ten times that for lists, moves and writes.
DEEP_STORE_TIMEOUT_S = _int("PINOTADMIN_DEEP_STORE_TIMEOUT_S", 30)
SPARK_MASTER = _text("SPARK_MASTER", "local[*]")
#: Reading and querying a table takes a grant for it; otherwise every active user reads all.
READ_BY_GRANT = _bool("PINOTADMIN_READ_BY_GRANT", False)
#: /metrics without credentials.
OPEN_METRICS = _bool("PINOTADMIN_OPEN_METRICS", False)

# -- limits; docs/operations.md lists them with what is answered beyond
#: The largest tar of a segment, or file of `ingestFromFile`, that is taken in, and what a tar may unpack to.
MAX_UPLOAD_BYTES = _bytes("PINOTADMIN_MAX_UPLOAD_BYTES", "5G")
MAX_UNPACKED_BYTES = _bytes("PINOTADMIN_MAX_UNPACKED_BYTES", "20G")
#: Input files that people send: the largest one, and all of one person and of everybody that are kept at a time.
INPUT_UPLOAD_BYTES = _bytes("PINOTADMIN_INPUT_UPLOAD_BYTES", "2G")
INPUT_UPLOADS_PER_USER_BYTES = _bytes("PINOTADMIN_INPUT_UPLOADS_PER_USER_BYTES", "4G")
INPUT_UPLOADS_BYTES = _bytes("PINOTADMIN_INPUT_UPLOADS_BYTES", "20G")
#: The largest body of any other request.
MAX_BODY_BYTES = _bytes("PINOTADMIN_MAX_BODY_BYTES", "20M")
#: Large bodies that one web process takes in at once: of one user, and their bytes together; and what they leave free
#: on the disk.
MAX_UPLOADS_PER_USER = _int("PINOTADMIN_MAX_UPLOADS_PER_USER", 16)
MAX_UPLOADS_BYTES = _bytes("PINOTADMIN_MAX_UPLOADS_BYTES", "20G")
KEPT_FREE_BYTES = _bytes("PINOTADMIN_KEPT_FREE_BYTES", "256M")
#: Requests of one user at work at once in one web process (of 64 threads), and how many more wait.
MAX_REQUESTS_PER_USER = _int("PINOTADMIN_MAX_REQUESTS_PER_USER", 48)
MAX_WAITING_PER_USER = _int("PINOTADMIN_MAX_WAITING_PER_USER", 512)
#: Of one query: LIMIT and OFFSET together, bytes of its answer in memory, and its longest time in milliseconds.
QUERY_MAX_ROWS = _int("PINOTADMIN_QUERY_MAX_ROWS", 1_000_000)
QUERY_MAX_ANSWER_BYTES = _bytes("PINOTADMIN_QUERY_MAX_ANSWER_BYTES", "256M")
QUERY_MAX_TIMEOUT_MS = _int("PINOTADMIN_QUERY_MAX_TIMEOUT_MS", 600_000)
#: Memory of the query engine in each process, and queries that the web process answers at once: of all, and of one
#: user.
QUERY_MEMORY_BYTES = _bytes("PINOTADMIN_QUERY_MEMORY_BYTES", "4G")
QUERIES_AT_ONCE = _int("PINOTADMIN_QUERIES_AT_ONCE", 56)
QUERIES_PER_USER = _int("PINOTADMIN_QUERIES_PER_USER", 32)
#: Pushes of one user that wait or run, and those of one table.
PUSHES_PER_USER = _int("PINOTADMIN_PUSHES_PER_USER", 50)
PUSHES_PER_TABLE = _int("PINOTADMIN_PUSHES_PER_TABLE", 20)
#: Days that the audit, pushes, findings and the like are kept once they are over; 0: for ever.
HISTORY_DAYS = _int("PINOTADMIN_HISTORY_DAYS", 730)

# -- schedules of tasks
#: Where cron expressions of table configs count that name no time zone of their own.
SCHEDULE_TIME_ZONE = _time_zone("PINOTADMIN_SCHEDULE_TIME_ZONE", "UTC")

# -- alerts
#: Who gets mail about findings, separated by commas; nobody unless it is given. From which severity on: warning or
#: error.
ALERT_MAIL_TO = [a for a in _text("PINOTADMIN_ALERT_MAIL_TO", "").replace(",", " ").split() if a]
ALERT_MAIL_SEVERITY = _choice("PINOTADMIN_ALERT_MAIL_SEVERITY", "warning", ("warning", "error"))
#: Hours after which a pause of a table is a finding.
PAUSE_ALERT_HOURS = _int("PINOTADMIN_PAUSE_ALERT_HOURS", 24)
#: The mail server.
EMAIL_HOST = _text("PINOTADMIN_MAIL_HOST", "127.0.0.1")
EMAIL_PORT = _int("PINOTADMIN_MAIL_PORT", 25)
EMAIL_HOST_USER = _text("PINOTADMIN_MAIL_USER", "")
EMAIL_HOST_PASSWORD = _text("PINOTADMIN_MAIL_PASSWORD", "")
EMAIL_USE_TLS = _bool("PINOTADMIN_MAIL_STARTTLS", False)
EMAIL_USE_SSL = _bool("PINOTADMIN_MAIL_TLS", False)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = SERVER_EMAIL = _text("PINOTADMIN_MAIL_FROM", "pinotadmin@localhost")

# -- Django
#: Without one, sessions end with the process: fit for tests and one-off commands.
SECRET_KEY = _text("PINOTADMIN_SECRET_KEY", "") or secrets.token_urlsafe(50)
DEBUG = _bool("PINOTADMIN_DEBUG", False)
ALLOWED_HOSTS = [h for h in _text("PINOTADMIN_ALLOWED_HOSTS", "127.0.0.1,localhost,[::1],testserver").split(",") if h]
CSRF_TRUSTED_ORIGINS = [o for o in _text("PINOTADMIN_TRUSTED_ORIGINS", "").split(",") if o]

INSTALLED_APPS = [
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_celery_beat",
    "segments",
]
MIDDLEWARE = [
    "pinotadmin.response_headers.ResponseHeaders",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "segments.console.cluster_address.ClusterAddress",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "segments.console.request_actor.RequestActor",
    "segments.console.person_time_zone.PersonTimeZone",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "segments.console.too_many_attempts.TooManyAttempts",
]
ROOT_URLCONF = "pinotadmin.urls"
#: Of pages that name a cluster in their address.
CLUSTER_URLCONF = "pinotadmin.urls_of_cluster"
ASGI_APPLICATION = "pinotadmin.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
#: Connections last: every thread of the web process keeps one.
DATABASES = {
    "default": {
        **_database(_text("DATABASE_URL", f"sqlite:///{DATA_DIR}/db.sqlite3")),
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
    }
}
#: Checks passwords for REST and forms alike, and slows guessing down.
AUTHENTICATION_BACKENDS = ["segments.services.access.sign_in.SignInBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
# -- single sign-on (OpenID Connect)
#: Address of the identity provider, as its own document has it; empty: there is none.
OIDC_ISSUER = _text("PINOTADMIN_OIDC_ISSUER", "")
OIDC_CLIENT_ID = _text("PINOTADMIN_OIDC_CLIENT_ID", "")
OIDC_CLIENT_SECRET = _text("PINOTADMIN_OIDC_CLIENT_SECRET", "")
OIDC_SCOPE = _text("PINOTADMIN_OIDC_SCOPE", "openid profile email")
#: What the button of the log-in page calls it.
OIDC_NAME = _text("PINOTADMIN_OIDC_NAME", "single sign-on")
#: Hosts of the provider's parts, besides the issuer's, separated by spaces.
OIDC_HOSTS = _text("PINOTADMIN_OIDC_HOSTS", "").split()
#: Where the provider sends browsers back to; empty: /login/sso/return/ at the address that the browser used.
OIDC_REDIRECT_URL = _text("PINOTADMIN_OIDC_REDIRECT_URL", "")
#: The claim that lists groups; which of them is which group here ("theirs=ours; other=other", empty: the same names);
#: of which one has to be a member to sign in; whose members administer the installation (both with ; between names).
OIDC_GROUPS_CLAIM = _text("PINOTADMIN_OIDC_GROUPS_CLAIM", "groups")
OIDC_GROUPS = _text("PINOTADMIN_OIDC_GROUPS", "")
OIDC_REQUIRED_GROUPS = _names("PINOTADMIN_OIDC_REQUIRED_GROUPS")
OIDC_ADMIN_GROUPS = _names("PINOTADMIN_OIDC_ADMIN_GROUPS")
#: Seconds after which somebody signs in again.
OIDC_SESSION_S = _positive("PINOTADMIN_OIDC_SESSION_S", 8 * 3600)
if OIDC_ISSUER and not (OIDC_CLIENT_ID and OIDC_CLIENT_SECRET):
    raise ImproperlyConfigured("PINOTADMIN_OIDC_ISSUER needs PINOTADMIN_OIDC_CLIENT_ID and _CLIENT_SECRET, too.")
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login/"
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "/static/"
STATICFILES_DIRS = [("htmx", Path(django_htmx.__file__).parent / "static" / "django_htmx")]
WHITENOISE_USE_FINDERS = True
APPEND_SLASH = True
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _bool("PINOTADMIN_SECURE_COOKIES", False)
#: A segment's tar is streamed to a temporary file; form fields stay small.
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES
#: The grid of a new table has up to ten fields for each of its up to 2,000 columns.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 25_000
FILE_UPLOAD_TEMP_DIR = None

# -- REST
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "segments.api.authentication.TokenAuthentication",
        "segments.api.clusters.cluster_calls.ClusterAuthentication",
        "segments.api.authentication.BasicAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["segments.api.permissions.RightsPermission"],
    "EXCEPTION_HANDLER": "segments.api.errors.handle",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "pinotadmin",
    "DESCRIPTION": "Control plane for Apache Pinot tables. Pinot's own paths are at "
    "the root, additions under /api/v1/.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}

# -- Celery
CELERY_BROKER_URL = REDIS_URL
CELERY_TIMEZONE = TIME_ZONE
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TASK_DEFAULT_QUEUE = pools.PASSES.queue
#: By name, since it needs the models; limits are set where tasks are made (segments/tasks.py).
CELERY_TASK_ROUTES = "segments.services.upkeep.periodic_passes:route"
#: Seconds; a lost worker's tasks are given back after the first, checked every second.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
}
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"
DJANGO_CELERY_BEAT_TZ_AWARE = True

# -- appearance of the admin
UNFOLD = {
    "SITE_TITLE": "pinotadmin", "SITE_HEADER": "pinotadmin", "SITE_URL": "/", "SHOW_HISTORY": True,
    # The console's wine red.
    "COLORS": {"primary": {
            "50": "#fbf1f4", "100": "#f6e0e7", "200": "#edc2cf", "300": "#df98ad", "400": "#cb6684", "500": "#b03f62",
            "600": "#8f2447", "700": "#7a1e3c", "800": "#661b34", "900": "#561a2f", "950": "#310a18",
    }},
}  # fmt: skip

LOGGING = log_lines.settings(_text("PINOTADMIN_LOG_LEVEL", "INFO"))
