"""Where a config's input may be read, and as whom: roots, named logins, endpoints, and secrets that stay at home."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from segments.domain.access.outgoing import Kind, Rules
from segments.domain.push.file_system import read_file_system
from segments.domain.push.push_spec import parse_spec
from segments.domain.push.store_uri import parse_file_uri, split_roots
from segments.errors import Forbidden, InvalidInput, PinotAdminError, Unavailable
from segments.gateways.input_files.access import FileAccess
from segments.gateways.input_files.choice import Choice
from segments.gateways.input_files.logins import read_logins
from segments.gateways.input_files.rules import InputRules
from segments.gateways.input_files.source import InputSource
from tests.s3_server import KEYS, Front, S3Server

S3FS = "org.apache.pinot.plugin.filesystem.S3PinotFS"
LOGIN: dict[str, Any] = {
    "className": S3FS, "roots": ["s3://lake/sales"], "tables": ["sales*"], "region": "eu-central-1",
    "accessKey": "kept-key", "secretKey": "kept-secret", "endpoint": "https://kept.example",
}  # fmt: skip
PRIVATE = Rules(Kind.STORE, ("https://minio.example:9000",))


@pytest.fixture
def rules(tmp_path: Path) -> InputRules:
    file = tmp_path / "logins.json"
    file.write_text(json.dumps({"sales": LOGIN}))
    return InputRules((str(tmp_path), "s3://lake/in", "abfss://box@account/in"), PRIVATE, str(file))


def properties(**given: str) -> dict[str, str]:
    return {f"input.fs.prop.{key}": value for key, value in given.items()}


def login_of(access: FileAccess) -> dict[str, str]:
    return dict(access.login)


def test_a_local_folder_is_read_below_the_local_roots_only(rules: InputRules, tmp_path: Path) -> None:
    assert rules.access(f"{tmp_path}/x", {}, table="t") == FileAccess((str(tmp_path),))


def test_an_address_below_a_root_is_read_with_what_the_environment_holds(rules: InputRules) -> None:
    assert rules.access("s3a://lake/in/x", {}, table="t").login == ()
    assert rules.access("abfs://box@account.dfs.core.windows.net/in/x", {}, table="t").login == ()


def test_keys_of_the_config_itself_are_used(rules: InputRules) -> None:
    given = {
        "input.fs.className": S3FS,
        **properties(accessKey="a", secretKey="b", region="us-east-1", disableAcl="true"),
    }
    found = login_of(rules.access("s3://lake/in", given, table="t"))
    assert {k: found[k] for k in ("accessKey", "secretKey", "region")} == {
        "accessKey": "a", "secretKey": "b", "region": "us-east-1"
    }  # fmt: skip


def test_a_named_login_is_used_for_its_tables_and_below_its_roots(rules: InputRules) -> None:
    found = rules.access("s3://lake/sales/2026", properties(login="sales"), table="sales_eu")
    assert (found.roots, login_of(found)["secretKey"]) == (("s3://lake/sales",), "kept-secret")
    with pytest.raises(Forbidden, match=r"outside the addresses that may be read \(s3://lake/sales\)"):
        rules.access("s3://lake/in", properties(login="sales"), table="sales")
    for table, scheme, name in (("other", "s3://lake/sales", "sales"), ("sales", "s3://lake/sales", "nobody")):
        with pytest.raises(InvalidInput, match=f"There is no login '{name}' to s3 for table '{table}'"):
            rules.access(scheme, properties(login=name), table=table)


@pytest.mark.parametrize(
    "more", [{"endpoint": "https://minio.example:9000"}, {"accessKey": "x", "secretKey": "y"}, {"anonymous": "true"}]
)
def test_a_named_login_goes_nowhere_that_the_config_says(more: dict[str, str], rules: InputRules) -> None:
    with pytest.raises(InvalidInput, match="a stored login is used exactly as it is kept"):
        rules.access("s3://lake/sales", properties(login="sales", **more), table="sales")


@pytest.mark.parametrize(
    "endpoint",
    ["https://evil.example", "http://minio.example:9000", "https://minio.example", "http://169.254.169.254",
     "http://127.0.0.1:9000",
     "https://minio.example:9000@evil.example", "https://minio.example:9000/path",
     "ftp://minio.example:9000", "localhost:9000"],
)  # fmt: skip
def test_an_endpoint_of_a_config_passes_the_gate(endpoint: str, rules: InputRules) -> None:
    with pytest.raises(InvalidInput):
        rules.access("s3://lake/in", properties(endpoint=endpoint, accessKey="a", secretKey="b"), table="t")


def test_an_allowed_endpoint_gets_the_keys_of_the_config_or_none(rules: InputRules) -> None:
    given = properties(endpoint="minio.example:9000", accessKey="a", secretKey="b")
    found = login_of(rules.access("s3://lake/in", given, table="t"))
    assert (found["endpoint"], found["accessKey"], found.get("anonymous")) == ("https://minio.example:9000", "a", None)
    found = login_of(rules.access("s3://lake/in", properties(endpoint="https://minio.example:9000/"), table="t"))
    assert (found.get("accessKey"), found["anonymous"]) == (None, "true")


def test_the_installations_own_keys_are_never_sent_to_an_endpoint_of_a_config(
    s3: S3Server, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in KEYS.items():
        monkeypatch.setenv(key, value)
    rules = InputRules(("s3://lake/in",), Rules(Kind.STORE, (), loopback=True))
    access = rules.access("s3://lake/in", properties(endpoint=f"http://localhost:{front.port}"), table="t")
    assert login_of(access)["endpoint"] == f"http://127.0.0.1:{front.port}", "the number that was checked"
    with pytest.raises(PinotAdminError):
        InputSource(access).open("s3://lake/in/none.csv")
    assert front.seen
    sent = {name.lower() for headers in front.headers for name in headers}
    assert not sent & {"authorization", "x-amz-security-token"}
    monkeypatch.setenv("AWS_ENDPOINT_URL", front.url)
    with pytest.raises(PinotAdminError):
        InputSource(rules.access("s3://lake/in", {}, table="t")).open("s3://lake/in/none.csv")
    assert "test-access-key" in str(front.headers[-1]), "but to the one that the administrator set"


@pytest.mark.parametrize(
    ("key", "value"),
    [("roleArn", "arn:aws:iam::1:role/x"), ("iamRoleBasedAccessEnabled", "true"), ("gcpKey", "/etc/key.json"),
     ("hadoop.conf.path", "/etc"), ("hadoop.kerberos.keytab", "/k"), ("nothing", "x"), ("region", "x.evil.example/?"),
     ("region", "eu\n"), ("accountName", "evil.example/#"), ("accessKey", "only")],
)  # fmt: skip
def test_properties_that_use_what_the_installation_has_or_are_none_are_refused(
    key: str, value: str, rules: InputRules
) -> None:
    with pytest.raises(InvalidInput, match=f"'input.fs.prop.{key}'"):
        rules.access("s3://lake/in", {"input.fs.className": S3FS} | properties(**{key: value}), table="t")


def test_an_account_of_a_config_cannot_lead_elsewhere(rules: InputRules) -> None:
    address = "abfss://box@account.dfs.core.windows.net/in"
    assert rules.access(address, properties(accountName="account"), table="t").login == ()
    with pytest.raises(InvalidInput, match="is not the account of"):
        rules.access(address, properties(accountName="another"), table="t")
    for other in ("abfss://box@account.evil.example/in", "abfss://box@other.dfs.core.windows.net/in"):
        with pytest.raises((InvalidInput, Forbidden)):
            rules.access(other, {}, table="t")


def test_a_class_must_fit_the_address(rules: InputRules) -> None:
    with pytest.raises(InvalidInput, match="is not for addresses such as"):
        rules.access("s3://lake/in", {"input.fs.className": "org.apache.pinot.plugin.filesystem.GcsPinotFS"}, table="t")
    with pytest.raises(InvalidInput, match="is not a file system that is known"):
        rules.access("s3://lake/in", {"input.fs.className": "com.example.Mine"}, table="t")


def test_secrets_are_never_printed(rules: InputRules) -> None:
    access = rules.access("s3://lake/sales", properties(login="sales"), table="sales")
    own = read_file_system(properties(secretKey="hidden", accessKey="hidden"))
    shown = f"{access!r} {InputSource(access).access} {own!r} {rules!r} {read_logins(json.dumps({'a': LOGIN}))!r}"
    assert "kept-secret" not in shown
    assert "kept-key" not in shown
    assert "hidden" not in shown


def test_a_login_can_be_replaced_while_everything_runs(rules: InputRules) -> None:
    changed = {**LOGIN, "secretKey": "another-and-longer"}
    Path(rules.logins_file).write_text(json.dumps({"sales": changed}))
    os.utime(rules.logins_file, (1, 1))
    found = login_of(rules.access("s3://lake/sales", properties(login="sales"), table="sales"))
    assert found["secretKey"] == "another-and-longer"
    Path(rules.logins_file).unlink()
    with pytest.raises(Unavailable, match="PINOTADMIN_INPUT_LOGINS cannot be read"):
        rules.access("s3://lake/sales", properties(login="sales"), table="sales")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"a": 1}', '{"a": {"className": "x.S3PinotFS"}}',
     json.dumps({"a": {**LOGIN, "roots": ["/etc"]}}).replace('"/etc"', '"gs://bucket"'),
     json.dumps({"a": {**LOGIN, "secretkey": "kept-secret"}}),
     json.dumps({"a": {**LOGIN, "className": "LocalPinotFS"}})],
)  # fmt: skip
def test_a_file_of_logins_that_does_not_read_is_refused_without_its_values(text: str) -> None:
    with pytest.raises(InvalidInput, match="PINOTADMIN_INPUT_LOGINS") as caught:
        read_logins(text)
    assert "kept-secret" not in str(caught.value)


SPEC = {
    "jobType": "SegmentCreationAndMetadataPush", "tableSpec": {"tableName": "t"},
    "recordReaderSpec": {"dataFormat": "csv"}, "inputDirURI": "s3://lake/in/my%20files/",
}  # fmt: skip


def test_a_job_specification_names_its_file_system_as_pinot_does() -> None:
    configs = {"region": "eu-west-1", "disableAcl": False}
    fs = [{"scheme": "file", "className": "x"}, {"scheme": "s3", "className": S3FS, "configs": configs}]
    found = parse_spec({**SPEC, "pinotFSSpecs": fs})
    assert found.input_dir == "s3://lake/in/my files"
    assert found.file_system == {
        "input.fs.className": S3FS, "input.fs.prop.region": "eu-west-1", "input.fs.prop.disableAcl": "false"
    }  # fmt: skip


def test_a_job_specification_with_a_secret_is_refused_because_it_is_stored() -> None:
    fs = [{"scheme": "s3", "className": S3FS, "configs": {"accessKey": "a", "secretKey": "hidden"}}]
    with pytest.raises(InvalidInput, match="holds a secret, which would be stored") as caught:
        parse_spec({**SPEC, "pinotFSSpecs": fs})
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "roots"),
    [
        ("", []), ("/a", ["/a"]), ("/a:/b:", ["/a", "/b"]),
        ("s3://bucket/p:/a:hdfs://host:8020/x:gs://b", ["s3://bucket/p", "/a", "hdfs://host:8020/x", "gs://b"]),
        ("hdfs://host:8020:abfss://c@a/x", ["hdfs://host:8020", "abfss://c@a/x"]),
    ],
)  # fmt: skip
def test_roots_are_separated_by_colons_that_do_not_belong_to_them(text: str, roots: list[str]) -> None:
    assert split_roots(text) == roots


def test_one_bucket_has_one_spelling() -> None:
    assert str(parse_file_uri("s3n://b0t/x?y#z")) == "s3://b0t/x?y#z"
    assert (
        str(parse_file_uri("adl2://c0n@acc0unt.blob.core.windows.net/x"))
        == "abfss://c0n@acc0unt.dfs.core.windows.net/x"
    )


def test_a_listing_needs_no_login_for_a_local_folder(rules: InputRules, tmp_path: Path) -> None:
    (tmp_path / "x.csv").touch()
    source = InputSource(rules.access(str(tmp_path), {}, table="t"))
    assert [Path(f.path).name for f in source.list(source.folder("."), Choice(include="glob:**.csv"))] == ["x.csv"]
