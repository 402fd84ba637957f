"""Texts, decimals and bytes as comparison values: in the order in which Java has them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from segments.dataplane.primary_keys.order_of_values import ranks
from segments.dataplane.primary_keys.wide_values import encoded, in_words, whole

#: Long ones have the same beginning; characters on both sides of the surrogates.
PREFIXES = st.sampled_from(["", "a" * 22, "a" * 24, "a" * 25])
TEXTS = st.tuples(PREFIXES, st.text("\0\1\2ab\x7fé\ud7ff\ue000\uffff\U00010000\U0010ffff", max_size=4)).map("".join)
BYTES = st.tuples(PREFIXES.map(str.encode), st.binary(max_size=4)).map(b"".join)
DECIMALS = st.tuples(st.sampled_from(["", "7" * 33, "7" * 40]), st.decimals(allow_nan=False, allow_infinity=False)).map(
    lambda pair: f"{pair[1]:f}" if not pair[0] else f"{'-' if pair[1] < 0 else ''}{pair[0]}{abs(pair[1]):f}"
)


def order_of(values: list[Any], stored_type: str, kind: Any) -> list[int]:
    """The rank of each value, as rows are compared."""
    return ranks(*in_words(encoded(pa.array(values, kind), stored_type))).tolist() if values else []


def ranked(values: list[Any]) -> list[int]:
    """The same by Python's sort."""
    different = sorted(set(values))
    return [different.index(value) for value in values]


@given(st.lists(TEXTS, min_size=1))
def test_texts_are_ordered_as_java_compares_them(texts: list[str]) -> None:
    assert order_of(texts, "STRING", pa.string()) == ranked([t.encode("utf-16-be") for t in texts])


@given(st.lists(BYTES, min_size=1))
def test_bytes_are_ordered_without_signs(values: list[bytes]) -> None:
    assert order_of(values, "BYTES", pa.binary()) == ranked(values)


@given(st.lists(DECIMALS, min_size=1))
def test_decimals_of_any_length_are_ordered_by_value_whatever_their_scale(texts: list[str]) -> None:
    assert order_of(texts, "BIG_DECIMAL", pa.string()) == ranked([Decimal(t) for t in texts])


@given(st.lists(TEXTS, min_size=1))
def test_a_value_is_whole_again_from_its_words_and_what_was_longer(texts: list[str]) -> None:
    values = encoded(pa.array(texts, pa.string()), "STRING")
    words, wholes = in_words(values)
    assert whole(words, wholes).tolist() == values


def test_values_of_different_lengths_take_no_more_than_their_words() -> None:
    words, wholes = in_words([b"x" * 24, b"", b"x" * 25])
    assert words.shape == (3, 3)
    assert wholes is not None
    assert np.not_equal(wholes, None).tolist() == [False, False, True]
