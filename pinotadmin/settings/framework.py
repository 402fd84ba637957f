"""Django, REST, Celery and the admin's appearance."""

from __future__ import annotations

import logging
from pathlib import Path

import django_htmx
from django.templatetags.static import static

from pinotadmin import log_lines
from pinotadmin.configuration.address_texts import as_host_names, as_origins
from pinotadmin.configuration.given import given
from pinotadmin.configuration.setting_texts import as_bool, with_checked_certificate
from pinotadmin.settings.installation import BASE_DIR, DATABASE, HOST, LOG_FORMAT, LOG_LEVEL, PATH_PREFIX, REDIS_URL
from pinotadmin.settings.limits import MAX_BODY_BYTES
from segments.domain.jobs.workers import pools

DEBUG = given.value("PINOTADMIN_DEBUG", "false", "Django's pages of errors; never in production", as_bool)
_NAMES = given.value(
    "PINOTADMIN_ALLOWED_HOSTS",
    "127.0.0.1,localhost,[::1],testserver",
    "host names that requests may name besides PINOTADMIN_HOST and this machine's, with commas between",
    as_host_names,
)
#: Whatever is set, the cluster's other processes and probes on this machine come in.
ALLOWED_HOSTS = list(dict.fromkeys([*_NAMES, f"[{HOST}]" if ":" in HOST else HOST, "127.0.0.1", "localhost", "[::1]"]))
CSRF_TRUSTED_ORIGINS = given.value(
    "PINOTADMIN_TRUSTED_ORIGINS", "", "other origins whose pages may send forms, with commas between", as_origins
)

INSTALLED_APPS = [
    "unfold",
    # Its pages are loaded with the addresses (pinotadmin/urls.py): most processes serve none.
    "django.contrib.admin.apps.SimpleAdminConfig",
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
    "pinotadmin.request_texts.RequestTexts",
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
#: Next to the package in a checkout, in it when installed.
_TEMPLATES = next(f for f in (BASE_DIR / "templates", BASE_DIR / "pinotadmin" / "templates") if f.is_dir())
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [_TEMPLATES],
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
        **DATABASE,
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
    }
}
LANGUAGE_CODE = "en"
FORMAT_MODULE_PATH = "pinotadmin.formats"
TIME_ZONE = "UTC"
USE_TZ = True
#: Every address that is made begins with it.
FORCE_SCRIPT_NAME = PATH_PREFIX or None
STATIC_URL = f"{PATH_PREFIX}/static/"
STATICFILES_DIRS = [("htmx", Path(django_htmx.__file__).parent / "static" / "django_htmx")]
WHITENOISE_USE_FINDERS = True
APPEND_SLASH = True
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = given.value(
    "PINOTADMIN_SECURE_COOKIES", "false", "cookies over HTTPS only", as_bool
)
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
    # Its colours of examples have too little contrast.
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "syntaxHighlight": False},
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SERVERS": [{"url": PATH_PREFIX}] if PATH_PREFIX else [],
}

# -- Celery
CELERY_BROKER_URL = with_checked_certificate(REDIS_URL)
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
#: Intervals in seconds; a lost worker's tasks are given back after the first, checked every second.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    # Who hands a task over tries twice: by default a page would wait six seconds for a Redis that refuses at once.
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0.2,
    "interval_max": 0.2,
}
CELERY_BEAT_SCHEDULER = "segments.management.elected_beat:ElectedScheduler"
DJANGO_CELERY_BEAT_TZ_AWARE = True

# -- appearance of the admin
UNFOLD = {
    "SITE_TITLE": "pinotadmin", "SITE_HEADER": "pinotadmin", "SITE_URL": f"{PATH_PREFIX}/", "SHOW_HISTORY": True,
    "STYLES": [lambda _: static("segments/admin.css")],
    # The console's wine red.
    "COLORS": {"primary": {
            "50": "#fbf1f4", "100": "#f6e0e7", "200": "#edc2cf", "300": "#df98ad", "400": "#cb6684", "500": "#b03f62",
            "600": "#8f2447", "700": "#7a1e3c", "800": "#661b34", "900": "#561a2f", "950": "#310a18",
    }},
}  # fmt: skip

LOGGING = log_lines.settings(LOG_LEVEL, LOG_FORMAT)
# Python's warnings are printed over several lines otherwise.
logging.captureWarnings(LOG_FORMAT == "json")
