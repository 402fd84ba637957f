"""What makes a run of all tests quick: the order of files, cheap passwords, static files that are listed once, a short
way for the garbage collector.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.test import override_settings
from whitenoise.middleware import WhiteNoiseMiddleware

#: Files that take longest, in seconds of a quiet machine from about a minute down to ten. They begin first: a file
#: stays on one worker of ``make test``, and one that began last would have the other worker wait for it.
LONG_FILES = (
    # whole installations
    "tests/chaos/test_cut_commits.py",
    "tests/chaos/test_cut_recovery.py",
    "tests/chaos/test_chaos.py",
    "tests/integration/test_conformance.py",
    "tests/integration/test_push.py",
    "tests/integration/test_frozen_processes.py",
    "tests/integration/test_web_processes.py",
    "tests/integration/test_consistent_reads.py",
    "tests/integration/test_life.py",
    "tests/integration/two_hosts/test_two_hosts.py",
    "tests/integration/two_hosts/test_one_host.py",
    "tests/integration/tls/test_everything_over_tls.py",
    "tests/integration/upgrade/test_rolling_upgrade.py",
    "tests/integration/test_postgresql.py",
    "tests/integration/proxy/test_behind_nginx.py",
    "tests/scale/test_fault_table.py",
    # everything else
    "tests/security/test_campaign.py",
    "tests/browser/accessibility/test_every_page.py",
    "tests/browser/accessibility/test_pages.py",
    "tests/browser/accessibility/test_path_prefix.py",
    "tests/browser/test_policies.py",
    "tests/security/test_route_matrix.py",
    "tests/push/test_spark_ports.py",
    "tests/push/test_spark.py",
    "tests/contract/test_zookeeper_logins.py",
    "tests/streams/test_kafka_stream.py",
    "tests/browser/test_journey.py",
    "tests/browser/test_clusters.py",
    "tests/security/growth/test_growth_of_sql.py",
    "tests/security/growth/test_growth_of_values.py",
)
_PLACE = {file: place for place, file in enumerate(LONG_FILES)}


def place(item: pytest.Item) -> int:
    """Where a test's file stands in the order of a run; among themselves tests stay as they were collected."""
    return _PLACE.get(item.nodeid.partition("::")[0], len(_PLACE))


@contextmanager
def cheap_passwords() -> Iterator[None]:
    """PBKDF2 takes a tenth of a second of a core by design, for every user that a test makes and everyone who asks."""
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@contextmanager
def static_files_listed_once() -> Iterator[None]:
    """WhiteNoise lists all static files for every new ``Client``, which takes another tenth of a second each; they stay
    the same.
    """
    listed: dict[str, Any] = {}
    scan = WhiteNoiseMiddleware.add_files_from_finders

    def once(middleware: WhiteNoiseMiddleware) -> None:
        if not listed:
            scan(middleware)
            listed.update(middleware.files)
        middleware.files.update(listed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", once)
        yield
