"""The small field checks: texts, integers, shapes, and what a refusal says."""

import datetime as dt
import decimal
import enum
import uuid

import pytest

from ledgence.worker._exceptions import ArgumentError, LimitError
from ledgence.worker.workflow import _fields
from tests.support.ids import stable
from tests.support.workflow import nest, refused


class Word(enum.StrEnum):
    A = "a"


class Text(str):
    __slots__ = ()


class Number(int):
    pass


class Mapping(dict):
    pass


NOT_TEXTS = [None, 1, True, b"a", ["a"], Word.A, Text("a"), object()]
CONTROLS = ["\x00", "\n", "\x1f", "\x7f", "\x80", "\x9f"]
NONCHARACTERS = ["\ufdd0", "\ufdef", "\ufffe", "\uffff", "\U0001fffe", "\U0010ffff"]
KEPT = [" ", "\u00a0", "\u200b", "\ufeff", "\u2028", "\ue000", "\U0001f600", "\u0378"]


@pytest.mark.parametrize("limit", [1, 2, 128, 512])
def test_a_text_has_one_to_limit_bytes(limit):
    assert _fields.is_text("x" * limit, limit)
    assert not _fields.is_text("", limit)
    assert not _fields.is_text("x" * (limit + 1), limit)


@pytest.mark.parametrize(
    ("char", "size"), [("é", 2), ("€", 3), ("\U0001f600", 4)], ids=ascii
)
def test_the_bytes_of_a_text_are_those_of_utf_8(char, size):
    assert _fields.is_text(char * (128 // size))
    assert not _fields.is_text(char * (128 // size + 1))


@pytest.mark.parametrize("value", NOT_TEXTS, ids=stable)
def test_only_an_exact_str_is_a_text(value):
    assert not _fields.is_text(value)
    assert refused(_fields.text, "key", value).code == "invalid_text"


@pytest.mark.parametrize("char", CONTROLS + NONCHARACTERS, ids=ascii)
def test_controls_and_noncharacters_are_no_text(char):
    assert not _fields.is_text(f"a{char}b")
    assert not _fields.is_text(f"é{char}")


@pytest.mark.parametrize("char", KEPT, ids=ascii)
def test_everything_else_is_kept(char):
    assert _fields.text("key", f"a{char}é") == f"a{char}é"


def test_the_neighbours_of_forbidden_characters_are_texts():
    for code in (0x20, 0x7E, 0xA0, 0xFDCF, 0xFDF0, 0xFFFD, 0x10000, 0x1FFFD):
        assert _fields.is_text(chr(code)), hex(code)


@pytest.mark.parametrize("text", ["\ud800", "a\udfff", "\ud83d\ude00"], ids=ascii)
def test_a_lone_surrogate_is_no_text(text):
    assert not _fields.is_text(text)
    assert not _fields.is_message(text)


def test_a_message_may_be_empty_and_hold_anything():
    for text in ("", "\x00\n\uffff", "x" * 4096, "é" * 2048):
        assert _fields.is_message(text)


@pytest.mark.parametrize("value", ["x" * 4097, "é" * 2049, "€" * 1366, *NOT_TEXTS])
def test_a_message_has_at_most_4096_bytes_of_plain_text(value):
    assert not _fields.is_message(value)


@pytest.mark.parametrize("value", [0, 1, 10])
def test_an_integer_lies_between_its_bounds(value):
    assert _fields.integer("n", value, 0, 10) == value


@pytest.mark.parametrize("value", [-1, 11, True, 1.0, "1", None, Number(1)], ids=stable)
def test_everything_else_is_no_integer(value):
    error = refused(_fields.integer, "n", value, 0, 10)
    assert (error.code, error.argument) == ("invalid_integer", "n")
    assert "0 to 10" in str(error)


@pytest.mark.parametrize("value", ["a", "0", "-", "...", ".a", "a" * 128, "a.b_c-d"])
def test_a_slug_is_of_its_characters(value):
    assert _fields.is_slug(value)


@pytest.mark.parametrize(
    "value", ["", ".", "..", "A", "a b", "a/b", "é", "a" * 129, "a\n", *NOT_TEXTS]
)
def test_everything_else_is_no_slug(value):
    assert not _fields.is_slug(value)


@pytest.mark.parametrize("value", [[], (), [1] * 4, (1,) * 4], ids=stable)
def test_a_list_or_tuple_within_its_length_is_taken(value):
    assert _fields.items("until", value, 4) is value


@pytest.mark.parametrize("value", [None, "ab", {"a"}, {"a": 1}, iter([])], ids=stable)
def test_nothing_else_is_a_list(value):
    assert refused(_fields.items, "until", value, 4).code == "invalid_type"


def test_a_longer_list_is_too_many():
    error = refused(_fields.items, "until", [1] * 5, 4)
    assert isinstance(error, LimitError)
    assert (error.size, error.limit) == (5, 4)
    assert "too many" in str(error)


@pytest.mark.parametrize(
    "value",
    [None, [], Mapping(a=1, b=2), {"a": 1}, {"a": 1, "b": 2, "c": 3}],
    ids=stable,
)
def test_a_shape_has_exactly_its_members(value):
    error = refused(_fields.members, "policy", value, ("a", "b"))
    assert error.code in ("invalid_type", "invalid_members")
    assert error.argument == "policy"


def test_member_names_must_be_exact_texts():
    assert refused(_fields.members, "x", {Word.A: 1}, ("a",)).code == "invalid_members"
    assert _fields.members("x", {"a": 1}, ("a",)) == {"a": 1}


def test_an_object_of_another_type_is_none():
    assert _fields.is_object({"a": 1}, {"a"})
    assert not _fields.is_object(Mapping(a=1), {"a"})


@pytest.mark.parametrize(
    "text",
    ["", "plain", 'a"b', "a\\b", "é", "\u2028", "\U0001f600", '"', "\\"],
    ids=ascii,
)
def test_quoting_gives_the_canonical_bytes(text):
    from tests.support.workflow import canonical

    assert _fields.quoted(text) == canonical(text)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (None, "None"),
        (True, "True"),
        (1.5, "1.5"),
        (12, "12"),
        (1 << 90, "a very large int"),
        ("a\n", "'a\\n'"),
        ("x" * 81, "'" + "x" * 80 + "'... (81 characters)"),
        ({}, "a dict of 0"),
        ([1], "a list of 1"),
        ((1, 2), "a tuple of 2"),
        (Word.A, "an object of type Word"),
        (b"", "an object of type bytes"),
    ],
    ids=stable,
)
def test_anything_is_described_in_few_words(value, wanted):
    assert _fields.describe(value) == wanted


def test_lists_of_names_are_bounded():
    assert _fields.listed(["b", "a", 1]) == "{'a', 'b'}"
    assert _fields.listed(map(str, range(20))).endswith(", ...}")


@pytest.mark.parametrize(
    ("value", "path", "words"),
    [
        (object(), "$", "type object"),
        ({"a": [0, {"b c": {1}}]}, '$.a[1]["b c"]', "type set; pass a sorted list"),
        ([b""], "$[0]", "base64"),
        ([uuid.UUID(int=1)], "$[0]", "pass str(value)"),
        ([decimal.Decimal(1)], "$[0]", "pass str(value)"),
        ([dt.date(2024, 1, 1)], "$[0]", "isoformat"),
        ({"a": Word.A}, "$.a", "type Word; pass a plain str"),
        ([Number(3)], "$[0]", "pass a plain int"),
        ([Mapping()], "$[0]", "pass a plain dict"),
        ({"a": {1: 2}}, "$.a", "a member name that is no str: 1"),
        ([float("nan")], "$[0]", "NaN"),
        ({"a": 2**64}, "$.a", "send it as a text"),
        (["\ud800"], "$[0]", "surrogate"),
    ],
    ids=stable,
)
def test_a_value_that_is_no_json_is_named_with_its_place(value, path, words):
    error = refused(_fields.encode, "data", value, 1000, 64, key="k")
    assert isinstance(error, ArgumentError)
    assert error.code == "not_json"
    assert (error.argument, error.path, error.key) == ("data", path, "k")
    assert words in str(error)


def test_a_cycle_is_refused():
    loop = []
    loop.append(loop)
    assert "inside itself" in str(refused(_fields.encode, "data", loop, 1000, 64))


def test_a_value_at_its_limits_is_taken_and_above_refused():
    assert _fields.encode("data", "x" * 98, 100, 64) == b'"' + b"x" * 98 + b'"'
    error = refused(_fields.encode, "data", "x" * 99, 100, 64)
    assert (error.code, error.size, error.limit) == ("too_large", 101, 100)
    assert _fields.encode("data", nest(64), 1000, 64)
    error = refused(_fields.encode, "data", nest(65), 1000, 64)
    assert (error.code, error.limit) == ("too_deep", 64)
    assert error.path == "$" + "[0]" * 64


def test_received_values_may_be_longer_by_what_their_floats_allow():
    value = [1e-08] * 10
    with pytest.raises(LimitError):
        _fields.encode("data", value, 41, 64)
    assert _fields.encode("data", value, 41, 64, received=True)


def test_parts_that_are_too_large_together_are_refused():
    _fields.check_size("data", "the whole", 10, 10)
    error = refused(_fields.check_size, "data", "the whole", 11, 10, "k")
    assert (error.code, error.size, error.limit, error.key) == (
        "too_large",
        11,
        10,
        "k",
    )
    assert "the whole" in str(error)
