"""Every setting with texts that it cannot have: refused by its name with what it must be, before anything starts; and
with those that it can.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import pinotadmin.settings
from pinotadmin.configuration import address_texts as texts
from pinotadmin.configuration.given import Given, given
from pinotadmin.configuration.setting_texts import as_bytes, as_log_level
from tests.processes.conftest import PROJECT

#: Settings that may be any text: names, paths, passwords and sentences of others.
FREE = re.compile(
    r"PINOTADMIN_(DATA_DIR|CLUSTER_SECRET|SECRET_KEY|ADMIN_PASSWORD|SPARK_(DRIVER_\w+|PYTHON)|OIDC_\w+|MAIL_\w+)"
    r"|PINOTADMIN_(INPUT_LOGINS|ALERT_MAIL_TO|\w+_ROOTS)|ZOOKEEPER_(AUTH|TLS_\w+)|DEEP_STORE_(ENDPOINT|REGION|\w+_KEY)"
)

Read = Callable[[str], Any]


@pytest.mark.parametrize(
    ("read", "right", "wrong"),
    [
        (texts.as_host, ["127.0.0.1", "::1", "web.example", "web_1"], ["http://h", "h:9000", "a b", "h/x", "-h", "é"]),
        (texts.as_node_name, ["pinotadmin", "Wetter-7"], ["a/b", "a b", "..", "x" * 101, "a\nb"]),
        (
            texts.as_zookeeper,
            ["zk:2181", "zk", "a:1,b:2/pinot/x", "[::1]:2181", "a:1, b:2", "a:1/"],
            ["zk:70000", "zk:0", "zk:", "zookeeper://zk:1", "a,,b", "a:1//x", "a b", ",", "zk:²"],
        ),
        (texts.as_host_list, ["", "k:9092,l:9092"], ["k:x", "k:9092/x", "k:9092,"]),
        (
            texts.as_redis,
            ["redis://h", "redis://:p%40@h:6379/0", "rediss://u:p@h:1/2?ssl_ca_certs=/x", "redis://[::1]:6379/0"],
            ["http://h/0", "h:6379", "redis://", "redis://h:x/0", "redis://h:99999/0", "redis://h/x", "redis://[::1/0"],
        ),
        (
            texts.as_store,
            ["none", "None", "file:///a", "s3://b/c", "gs://b", "abfss://c@a.dfs.core.windows.net/x", "hdfs://h:8020/x"],
            ["/var/store", "s4://b", "bucket/x", "S3:/b", "://"],
        ),
        (
            texts.as_host_names,
            ["", "tools.example, 10.0.0.1,[::1]", "*", ".example"],
            ["https://t", "t:443", "t/x", "a b"],
        ),
        (
            texts.as_origins,
            ["", "https://tools.example,http://h:9000", "https://*.example"],
            ["tools.example", "https://", "https://t/x", "ftp://t"],
        ),
        (as_log_level, ["info", "ERROR"], ["chatty", "10"]),
        (as_bytes, ["1", "512M", "20GiB"], ["much", "-1", "1.5G", "9" * 5000, "²"]),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)  # fmt: skip
def test_texts_that_can_be_meant_are_taken_and_others_refused(read: Read, right: list[str], wrong: list[str]) -> None:
    for text in right:
        Given({"A": text}).value("A", right[0], "", read)
    refused = Given(dict.fromkeys(map(str, range(len(wrong))), "") | {str(n): text for n, text in enumerate(wrong)})
    refused.stops_at_problems = False
    for n in range(len(wrong)):
        refused.value(str(n), right[0], "", read)
    assert [wrong[n] for n in range(len(wrong)) if not refused.settings[str(n)].problem] == []


def test_every_setting_but_free_texts_refuses_nonsense_by_its_name() -> None:
    """One run of the program for each text, with all of them set to it."""
    assert pinotadmin.settings.VERSION, "they declare themselves when they are imported"
    names = [name for name in given.settings if not FREE.fullmatch(name)]
    assert len(names) > 60
    for text in ("no such thing://\\", "9" * 5000, "-1"):
        taken = set(names) - _refused(dict.fromkeys(names, text))
        lenient = _TAKE_A_WORD if text == "-1" else set[str]()
        assert taken - lenient == set(), text[:40]


#: What can be called like this.
_TAKE_A_WORD = {"PINOTADMIN_CLUSTER"}


def _refused(environment: dict[str, str]) -> set[str]:
    kept = {k: v for k, v in os.environ.items() if k not in given.settings}
    done = subprocess.run(
        [sys.executable, "-m", "pinotadmin", "config", "check"],
        cwd=PROJECT, capture_output=True, text=True, timeout=60, check=False, env=kept | environment,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    return set(re.findall(r"^error: (\w+) must be", done.stdout, re.M))
