"""The SQL parser reads of an ingestion expression what Pinot's ingestion has, and no other words or forms of SQL."""

from __future__ import annotations

import pytest

from segments.errors import InvalidInput
from segments.expressions.ingestion import Call, Column, Expression, Literal, parse_expression
from segments.expressions.sql import MAX_DEPTH

A, B, ONE = Column("a"), Column("b"), Literal(1)


@pytest.mark.parametrize(
    "word",
    ["select", "from", "case", "end", "if", "interval", "timestamp", "date", "order", "limit", "symmetric", "like",
     "as", "any", "array", "struct", "distinct", "unnest", "over", "escape", "x.y", "$id", "current_date", "CAST",
     "_utf8"],
)  # fmt: skip
def test_words_of_sql_are_names_of_columns_and_functions(word: str) -> None:
    assert parse_expression(f"{word} = 1 AND a BETWEEN {word} AND {word}") == Call(
        "and", (Call("equals", (Column(word), ONE)), Call("between", (A, Column(word), Column(word))))
    )
    if word != "CAST":
        assert parse_expression(f"{word}(a, {word})") == Call(word, (A, Column(word)))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a--1", Call("minus", (A, Literal(-1)))),
        ("- -a", Call("minus", (Literal(0), Call("minus", (Literal(0), A))))),
        ("-(1)", Literal(-1)),
        ("NOT NOT a", A),
        ("NOT NOT NOT a IS NULL", Call("not", (Call("isNull", (A,)),))),
        ("a IS NOT NULL", Call("isNotNull", (A,))),
        ("a NOT IN (1)", Call("not", (Call("in", (A, ONE)),))),
        ("a IN ()", Call("in", (A,))),
        ("a NOT BETWEEN 1 AND b AND b", Call("and", (Call("not", (Call("between", (A, ONE, B)),)), B))),
        ("(a OR b) OR a OR b", Call("or", (Call("or", (A, B)), A, B))),
        ("(a = b) = (1 = 1)", Call("equals", (Call("equals", (A, B)), Call("equals", (ONE, ONE))))),
        ("cast(as as as)", Call("cast", (Column("as"), Literal("as")))),
        ('CAST(a OR b AS "odd type")', Call("cast", (Call("or", (A, B)), Literal("odd type")))),
        ("f()", Call("f", ())),
        ("1.5e1 + .5 + 1.", Call("plus", (Call("plus", (Literal(15.0), Literal(0.5))), Literal(1.0)))),
        ("'it''s'", Literal("it's")),
        ('"a ""b"""', Column('a "b"')),
        ("null = TRUE", Call("equals", (Literal(None), Literal(True)))),
    ],
)
def test_expressions_have_these_trees(text: str, tree: Expression) -> None:
    assert parse_expression(text) == tree


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a = b = 1", 6), ("a IS NULL = b", 10), ("a IN (1) + 1", 9), ("a = NOT b", 4), ("a + NOT b", 4),
        ("a BETWEEN 1 OR b", 12), ("a BETWEEN 1 AND NOT b", 16), ("a IS b", 5), ("a IS NOT b", 9), ("a IN b", 5),
        ("+a", 0), ("f(a,)", 4), ("f(,a)", 2), ("f(a b)", 4), ("(a, b)", 2), ("()", 1), ("a, b", 1), ("a)", 1),
        ("((a)", 4), ("cast(a)", 6), ("cast(a, b)", 6), ("cast(a as f(x))", 11), ("cast(a as LONG", 14),
        ("f(a as b)", 4), ("'a' 'b'", 4), ("a 'b'", 2), ("1 a", 2), ('"f"(a)', 3), ("and(a, b)", 0),
        ("a LIKE 'x'", 2), ("a || b", 1), ("a && b", 1), ("a == b", 3), ("a[1]", 1), ("a::LONG", 1), ("`a`", 0),
        ("/* */ a", 0), ("a AT TIME ZONE 'UTC'", 2), ("CASE WHEN a THEN b END", 5), ("f(DISTINCT a)", 11),
        ("f(*)", 2), ("a IN (SELECT b)", 13), ("", 0), ("a; b", 1),
    ],
)  # fmt: skip
def test_other_sql_is_refused_where_it_begins(text: str, place: int) -> None:
    with pytest.raises(InvalidInput, match=f"cannot be read at position {place}: "):
        parse_expression(text)


@pytest.mark.parametrize(
    "text",
    ["(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1), "- " * (MAX_DEPTH + 1) + "a", "+".join(["a"] * 1_000)],
    ids=["brackets", "signs", "sum"],
)
def test_what_is_too_deep_to_be_evaluated_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="nested too deeply"):
        parse_expression(text)


def test_long_lists_and_chains_are_not_deep() -> None:
    assert len(parse_expression(" or ".join(["a"] * 1_900)).arguments) == 1_900
    assert len(parse_expression(f"a in ({','.join('1' * 4_000)})").arguments) == 4_001
    assert parse_expression("(" * MAX_DEPTH + "a" + ")" * MAX_DEPTH) == A
