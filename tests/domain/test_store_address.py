"""What a segment's record says of its file, and what addresses of earlier versions mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segments.domain.segments.store_address import (
    Earlier,
    earlier,
    encode,
    is_file_of,
    path_of,
    recorded,
    to_record,
    without_options,
)

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\\/"), min_size=1, max_size=20).filter(
    lambda name: ".." not in name and name != "."
)
ENDINGS = st.one_of(st.just(""), st.integers(0, 2**32).map(lambda crc: f"@{crc}"), st.just(".tmp.0a-1"))
STORES = st.sampled_from(
    ["file:///data/deepstore", "/data/deep store", "file:/data", "s3://bucket", "s3://b/p/q", "hdfs://host:9000/x"]
)
OPTIONS = st.sampled_from(
    ["", "?endpoint_override=http://10.0.0.1:9000&scheme=http", "?endpoint_override=h%3A1&region=x"]
)


@given(NAMES, NAMES, ENDINGS)
def test_a_recorded_path_is_read_back_and_belongs_to_its_segment_only(raw: str, segment: str, ending: str) -> None:
    path = f"{encode(raw)}/{encode(segment)}{ending}"
    assert path_of(recorded(path)) == path
    assert is_file_of(path, raw, segment)
    assert not is_file_of(path, raw + "x", segment)
    assert not is_file_of(path, raw, segment + "x")
    assert earlier(recorded(path), raw, segment) is None or path_of(recorded(path)) is not None


@given(STORES, OPTIONS, NAMES, NAMES, ENDINGS)
def test_every_spelling_of_a_store_leads_to_the_same_path_below_it(
    store: str, options: str, raw: str, segment: str, ending: str
) -> None:
    if "://" not in store:
        store = without_options(store)
    path = f"{encode(raw)}/{encode(segment)}{ending}"
    found = earlier(f"{store}{options}/{path}", raw, segment)
    assert found == Earlier(path, without_options(store), False)
    assert found.is_ours(without_options(store + "/"), ())
    assert not found.is_ours("s3://another", ())


@given(
    st.sampled_from(["http", "https"]), st.sampled_from(["h", "10.0.0.1", "[::1]"]), st.integers(1, 65535), NAMES, NAMES
)
def test_every_web_process_leads_to_the_segments_place(
    scheme: str, host: str, port: int, raw: str, segment: str
) -> None:
    for typed in (raw, f"{raw}_REALTIME"):
        found = earlier(f"{scheme}://{host}:{port}/segments/{encode(typed)}/{encode(segment)}", raw, segment)
        assert found == Earlier(f"{encode(raw)}/{encode(segment)}", f"{host}:{port}", True)
        assert found.is_ours("", [f"{host}:{port}"])
        assert not found.is_ours("", ["other:1"])


@given(st.text(max_size=60))
def test_no_text_leads_out_of_the_store(text: str) -> None:
    for address in (text, recorded(text), f"s3://b/{text}", f"http://h/segments/{text}"):
        for path in (path_of(address), getattr(earlier(address, "t", "s"), "path", None)):
            assert path is None or ("/../" not in f"/{path}/" and not path.startswith("/") and "\0" not in path)


@pytest.mark.parametrize(
    "path", ["", "/", "t//s", "../t/s", "t/%2e%2e/s", "t/..%2Fx", "t/s%00", "t/./s", "t\\s", "/t/s", "t/%2E%2E"]
)
def test_a_path_that_climbs_is_none(path: str) -> None:
    assert path_of(recorded(path)) is None


@pytest.mark.parametrize(
    "address",
    [
        "", "peer:///s", "http://h:1/segments/t/other", "http://h:1/segments/u/s", "http://h:1/x/segments/t/s",
        "http://h:1/segments/t/s?x=1", "http://u@h:1/segments/t/s", "s3://b/t/other", "s3://b/u/s", "s3://b/t/s.tar.gz",
        "http://h:x/segments/t/s", "t/s", "/t/s",
    ],
)  # fmt: skip
def test_what_is_not_the_file_of_the_very_segment_is_foreign(address: str) -> None:
    assert earlier(address, "t", "s") is None


@pytest.mark.parametrize(
    ("given_url", "kept"),
    [
        ("s3://KEY:SECRET@b/x/s.tar.gz?endpoint_override=h:1&scheme=http", "s3://b/x/s.tar.gz"),
        ("https://h/x?X-Amz-Signature=abc", "https://h/x?X-Amz-Signature=abc"),
        ("file:///drop/a?b", "file:///drop/a?b"),
        ("abfs://container@account.host/x?y=z", "abfs://container@account.host/x"),
    ],
)
def test_no_option_or_login_of_a_store_is_recorded(given_url: str, kept: str) -> None:
    assert to_record(given_url) == kept == to_record(kept)
