"""pyarrow's file system for an address and a login."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.fs as pafs

from segments.domain.push.store_uri import AZURE, GCS, HDFS, S3, StoreUri
from segments.errors import InvalidInput
from segments.gateways.deep_store.access import azure_endpoint

#: Seconds for a connection and between two pieces of an answer, and how often a request is sent at most.
_CONNECT_S: Final = 5.0
_REQUEST_S: Final = 10.0
_ATTEMPTS: Final = 3
_HDFS_PORT: Final = 8020


def open_store(uri: StoreUri, login: Mapping[str, str]) -> pafs.FileSystem:
    """The file system in which ``path_in`` gives paths. Connects to nothing but HDFS. Raises InvalidInput."""
    opened = {S3: _s3, GCS: _gcs, AZURE: _azure, HDFS: _hdfs}[uri.scheme]
    try:
        return opened(uri, login)
    except (OSError, ValueError, TypeError, NotImplementedError, pa.ArrowException) as error:
        raise InvalidInput(
            f"The file system of '{uri}' cannot be opened: {' '.join(str(error).split())[:300]}.",
            remedy="Check the address, and for HDFS the Java and Hadoop of this machine.",
        ) from error


def path_in(uri: StoreUri) -> str:
    """The path of an address within its file system."""
    if uri.scheme == HDFS:
        return f"/{uri.key}"
    bucket = uri.authority.partition("@")[0]
    return f"{bucket}/{uri.key}" if uri.key else bucket


def key_of(path: str, uri: StoreUri) -> str:
    """The key of a path that a listing of ``uri`` gave."""
    return path.lstrip("/") if uri.scheme == HDFS else path.partition("/")[2]


def _s3(uri: StoreUri, login: Mapping[str, str]) -> pafs.FileSystem:
    configured = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")
    scheme, found, host = (login.get("endpoint") or configured).partition("://")
    options: dict[str, Any] = {"endpoint_override": host, "scheme": scheme} if found else {}
    return pafs.S3FileSystem(
        access_key=login.get("accessKey"),
        secret_key=login.get("secretKey"),
        session_token=login.get("sessionToken"),
        anonymous=login.get("anonymous", "").lower() == "true",
        region=login.get("region"),
        role_arn=login.get("roleArn"),
        session_name=login.get("roleSessionName"),
        external_id=login.get("externalId"),
        connect_timeout=_CONNECT_S,
        request_timeout=_REQUEST_S,
        retry_strategy=pafs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        **options,
    )


def _gcs(uri: StoreUri, login: Mapping[str, str]) -> pafs.FileSystem:

    scheme, found, host = login.get("endpoint", "").partition("://")
    options: dict[str, Any] = {"endpoint_override": host, "scheme": scheme} if found else {}
    is_anonymous = login.get("anonymous", "").lower() == "true"
    return pafs.GcsFileSystem(anonymous=is_anonymous, retry_time_limit=timedelta(seconds=_REQUEST_S), **options)


def _azure(uri: StoreUri, login: Mapping[str, str]) -> pafs.FileSystem:
    names = {"accessKey": "account_key", "sasToken": "sas_token", "clientId": "client_id",
             "clientSecret": "client_secret", "tenantId": "tenant_id"}  # fmt: skip
    given = {names[key]: value for key, value in login.items() if key in names}
    options: dict[str, Any] = {**given, **azure_endpoint(login.get("endpoint", ""))}
    return pafs.AzureFileSystem(uri.authority.partition("@")[2].partition(".")[0], **options)


def _hdfs(uri: StoreUri, login: Mapping[str, str]) -> pafs.FileSystem:
    host, _, port = uri.authority.partition(":")
    return pafs.HadoopFileSystem(host, int(port or _HDFS_PORT), user=login.get("user"))
