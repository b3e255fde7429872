"""Canonical encoding: the walk of section 2, the tokens of 3, received mode of 4."""

import contextlib
import math
import struct
import sys

import pytest

from ledgence.worker._exceptions import ProfileError
from tests.support import oracle
from tests.support.documents import Count, Mask, Pair, Plain, Real, Text, Whole, Word
from tests.support.refusals import doubled, nested, reason, refusal

BIG = 1 << 20
NAN = float("nan")
LONE = "\ud800"


# --- section 3: tokens ---

TOKENS = {
    "null": (None, "null"),
    "true": (True, "true"),
    "false": (False, "false"),
    "empty-array": ([], "[]"),
    "empty-tuple": ((), "[]"),
    "empty-object": ({}, "{}"),
    "array": ([1, [2], (3, None)], "[1,[2],[3,null]]"),
    "object": ({"b": 1, "a": {}}, '{"a":{},"b":1}'),
    "smallest-int": (-(2**63), "-9223372036854775808"),
    "largest-int": (2**64 - 1, "18446744073709551615"),
    "zero": (0, "0"),
    "negative": (-7, "-7"),
    "whole-float": (1.0, "1.0"),
    "negative-zero": (-0.0, "-0.0"),
    "last-positional": (1e15, "1000000000000000.0"),
    "first-scientific": (1e16, "1e+16"),
    "first-small": (0.0001, "0.0001"),
    "first-tiny": (0.00001, "1e-05"),
    "tiny-digits": (1.5e-7, "1.5e-07"),
    "smallest-float": (5e-324, "5e-324"),
    "largest-float": (sys.float_info.max, "1.7976931348623157e+308"),
    "longest-float": (-2.2250738585072014e-308, "-2.2250738585072014e-308"),
    "no-such-float": (9007199254740993.0, "9007199254740992.0"),
    "escapes": ('"\\/\b\t\n\f\r', '"\\"\\\\/\\b\\t\\n\\f\\r"'),
    "controls": ("\x00\x01\x1f", '"\\u0000\\u0001\\u001f"'),
    "not-escaped": ("\x7f\x80\x9f\u2028\u2029\ufeff\uffff", None),
    "astral": ("😀\U0010ffff", None),
    "not-normalized": ("é\u0065\u0301", None),
}


@pytest.mark.parametrize(("value", "text"), TOKENS.values(), ids=TOKENS)
def test_each_value_has_one_token(profile, value, text):
    want = (f'"{value}"' if text is None else text).encode()
    data = profile.encode(value, BIG)
    assert data == want
    assert type(data) is bytes
    assert profile.check(value, BIG) == len(want)
    assert type(profile.check(value, BIG)) is int


def test_the_example_of_the_contract(profile):
    value = {
        "b": [1, 1.0, True, None, -0.0, 1e16, 1e-7],
        "a": 'é\n"\\/\x7f\x00\u2028😀',
    }
    text = (
        '{"a":"é\\n\\"\\\\/\x7f\\u0000\u2028😀","b":[1,1.0,true,null,-0.0,1e+16,1e-07]}'
    )
    assert profile.encode(value, BIG) == text.encode()


@pytest.mark.parametrize("code", range(0x80), ids=lambda code: f"{code:02x}")
def test_each_ascii_character_alone_and_inside_a_long_text(profile, code):
    char = chr(code)
    token = oracle.text_of(char, ordered=True)[1:-1]
    for before in (0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 64):
        text = "x" * before + char + "y" * 40
        want = '"' + "x" * before + token + "y" * 40 + '"'
        assert profile.encode(text, BIG) == want.encode()
        assert profile.encode({text: 0}, BIG) == f"{{{want}:0}}".encode()


def test_members_come_by_code_point_not_by_utf16_unit_nor_by_escape(profile):
    names = ["\U00010000", "\uffff", "é", "a", '"', " ", "\n", "aa", "", "b", "a\x00"]
    data = profile.encode(dict.fromkeys(names, 0), BIG)
    assert list(profile.loads(data)) == sorted(names)
    assert data.startswith(b'{"":0,"\\n":0," ":0,"\\"":0,"a":0,"a\\u0000":0,"aa":0,"b"')


@pytest.mark.parametrize("shape", ["list", "tuple", "dict"])
def test_members_are_sorted_at_every_level(profile, shape):
    inner = {"b": 1, "a": 2}
    outer = {"list": [inner], "tuple": (inner,), "dict": {"z": inner, "y": inner}}[
        shape
    ]
    assert b'{"a":2,"b":1}' in profile.encode(outer, BIG)


# --- section 2.1: exact types ---

OTHERS = {
    "bytes": b"x",
    "bytearray": bytearray(b"x"),
    "set": {1},
    "range": range(2),
    "complex": 1j,
    "ellipsis": ...,
    "object": object(),
    "class": str,
    "function": len,
    "generator": (n for n in ()),
    "dict-view": {}.keys(),
    "str-subclass": Text("x"),
    "int-subclass": Whole(1),
    "float-subclass": Real(1.5),
    "dict-subclass": type("D", (dict,), {})(),
    "list-subclass": type("L", (list,), {})(),
    "named-tuple": Pair(1, 2),
    "string-enum": Word.ONE,
    "integer-enum": Count.TWO,
    "plain-enum": Plain.X,
    "claims-to-be-str": Mask(str),
    "claims-to-be-dict": Mask(dict),
}


@pytest.mark.parametrize("value", OTHERS.values(), ids=OTHERS)
def test_every_other_object_is_no_json_value(profile, value):
    assert refusal(profile.encode, value, BIG) == ("type", "$", None, None)
    assert refusal(profile.encode, [0, value], BIG) == ("type", "$[1]", None, None)
    assert refusal(profile.encode, {"a": [value]}, BIG) == (
        "type",
        "$.a[0]",
        None,
        None,
    )


NAMES = {
    "int": 1,
    "none": None,
    "bool": True,
    "float": 1.5,
    "tuple": (),
    "bytes": b"a",
    "str-subclass": Text("a"),
    "string-enum": Word.ONE,
    "object": object(),
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_must_be_exactly_a_str(profile, name):
    assert refusal(profile.encode, {name: 1}, BIG) == ("key_type", "$", None, None)
    value = {"a": [{"b": 1, name: object()}]}
    assert refusal(profile.encode, value, BIG) == ("key_type", "$.a[0]", None, None)


# --- section 2.2: the walk ---

BUDGETS = {
    "null-without-a-byte": (None, 0, ("bytes", "$", 0, None)),
    "null-one-short": (None, 3, ("bytes", "$", 3, 4)),
    "null-fits": (None, 4, None),
    "text-without-a-byte": ("", 0, ("bytes", "$", 0, None)),
    "text-counted-first": ("abc", 3, ("bytes", "$", 3, None)),
    "text-quotes-only-later": ("abc", 4, ("bytes", "$", 4, 5)),
    "text-fits": ("abc", 5, None),
    "text-as-utf8": ("€€", 6, ("bytes", "$", 6, None)),
    "text-as-utf8-fits": ("€€", 8, None),
    "escapes-cost-nothing": ("\x01" * 10, 11, ("bytes", "$", 11, 62)),
    "escapes-fit": ("\x01" * 10, 62, None),
    "array-empty": ([], 1, ("bytes", "$", 1, 2)),
    "array-item": ([1], 1, ("bytes", "$[0]", 1, None)),
    "array-second-item": ([1, 2], 2, ("bytes", "$[1]", 2, None)),
    "array-phase-2": ([1, 2], 4, ("bytes", "$", 4, 5)),
    "array-fits": ([1, 2], 5, None),
    "name-is-at-its-object": ({"a": 1}, 1, ("bytes", "$", 1, None)),
    "name-text-is-at-its-object": ({"ab": 1}, 3, ("bytes", "$", 3, None)),
    "name-in-utf8": ({"€": 1}, 4, ("bytes", "$", 4, None)),
    "value-after-its-name": ({"ab": 1}, 4, ("bytes", "$.ab", 4, None)),
    "object-phase-2": ({"ab": 1}, 7, ("bytes", "$", 7, 8)),
    "object-fits": ({"ab": 1}, 8, None),
    "inner-object": ({"a": {"b": 1}}, 5, ("bytes", "$.a", 5, None)),
}


@pytest.mark.parametrize(("value", "limit", "want"), BUDGETS.values(), ids=BUDGETS)
def test_nodes_names_and_texts_are_charged_in_order(profile, value, limit, want):
    for function in (
        profile.encode,
        profile.check,
        profile.freeze,
        profile.fingerprint,
    ):
        if want is None:
            function(value, limit)
        else:
            assert refusal(function, value, limit) == want


FIRST = {
    "budget-ends-at-the-object": (["ab", 1.5, {"k": object()}], 8, "bytes", "$[2].k"),
    "object-is-paid-for": (["ab", 1.5, {"k": object()}], 9, "type", "$[2].k"),
    "count-before-scan": (["ab", "€" + LONE], 6, "bytes", "$[1]"),
    "scan-before-charge": (["ab", "€" + LONE], 7, "surrogate", "$[1]"),
    "escapes-are-free": (["\x01" * 100, object()], 200, "type", "$[1]"),
    "int-is-paid-for": ([2**64], 2, "int_range", "$[0]"),
    "int-is-not": ([2**64], 1, "bytes", "$[0]"),
    "insertion-order": ({"z": NAN, "a": {1}}, 99, "non_finite", "$.z"),
    "name-before-value": ({LONE: NAN}, 99, "surrogate", "$"),
    "name-type-before-charge": ({1: 2}, 1, "key_type", "$"),
    "value-before-next-name": ({"a": NAN, 1: 2}, 99, "non_finite", "$.a"),
    "deep-first": ([[[object()]], NAN], 99, "type", "$[0][0][0]"),
    "phase-1-wins-from-the-end": ([*["\x01"] * 90, 2**64], 200, "int_range", "$[90]"),
}


@pytest.mark.parametrize(("value", "limit", "why", "path"), FIRST.values(), ids=FIRST)
def test_of_several_faults_the_first_of_the_walk_counts(
    profile, value, limit, why, path
):
    assert refusal(profile.encode, value, limit)[:2] == (why, path)


@pytest.mark.parametrize(
    "value", [2**64, -(2**63) - 1, 10**20, -(10**20), 10**5000], ids=int.bit_length
)
def test_integers_out_of_range_are_refused(profile, value):
    assert refusal(profile.encode, {"n": value}, BIG) == (
        "int_range",
        "$.n",
        None,
        None,
    )


@pytest.mark.parametrize("value", [NAN, math.inf, -math.inf], ids=str)
def test_numbers_that_are_not_finite_are_refused(profile, value):
    assert refusal(profile.encode, [value], BIG) == ("non_finite", "$[0]", None, None)


@pytest.mark.parametrize("code", [0xD800, 0xDBFF, 0xDC00, 0xDFFF])
def test_a_surrogate_anywhere_is_refused(profile, code):
    for text in (chr(code), "a" + chr(code), chr(code) + "😀", "é" * 40 + chr(code)):
        assert refusal(profile.encode, [text], BIG) == ("surrogate", "$[0]", None, None)
        assert refusal(profile.encode, [{text: 1}], BIG) == (
            "surrogate",
            "$[0]",
            None,
            None,
        )


@pytest.mark.parametrize("code", [0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF])
def test_the_neighbours_of_surrogates_are_accepted(profile, code):
    assert profile.encode(chr(code), BIG) == f'"{chr(code)}"'.encode()


def test_a_pair_of_surrogates_is_two_surrogates(profile):
    assert reason(profile.encode, "\ud83d\ude00", BIG) == "surrogate"


@pytest.mark.parametrize("kind", ["list", "tuple", "dict"])
@pytest.mark.parametrize("limit", [0, 1, 2, 63, 64, 65, 96, 127])
def test_depth_counts_containers_and_not_scalars(profile, kind, limit):
    leaves = (None, "x", 1.5)
    for leaf in leaves:
        profile.encode(nested(kind, limit, leaf), BIG, max_depth=limit)
        value = nested(kind, limit + 1, leaf)
        why, path, depth, size = refusal(profile.encode, value, BIG, max_depth=limit)
        step = ".k" if kind == "dict" else "[0]"
        assert (why, path, depth, size) == ("depth", "$" + step * limit, limit, None)


def test_an_empty_container_counts_for_depth(profile):
    assert profile.encode(nested("list", 63, []), BIG)
    assert reason(profile.encode, nested("list", 64, {}), BIG) == "depth"
    assert reason(profile.encode, (), BIG, max_depth=0) == "depth"


def test_the_default_depths(profile):
    for function, depth in (
        (profile.encode, 64),
        (profile.check, 64),
        (profile.freeze, 64),
        (profile.fingerprint, 96),
        (profile.check_wire, 64),
        (profile.encode_frame, 65),
    ):
        limit = () if function is profile.check_wire else (BIG,)
        function(nested("dict", depth), *limit)
        assert refusal(function, nested("dict", depth + 1), *limit)[2] == depth


@pytest.mark.parametrize("kind", ["list", "dict", "tuple"])
def test_a_container_inside_itself_is_a_cycle_unless_depth_comes_first(profile, kind):
    inner = []
    loop = {"list": [inner], "dict": {"a": inner}, "tuple": (inner,)}[kind]
    inner.append(loop)
    step = ".a" if kind == "dict" else "[0]"
    assert refusal(profile.encode, loop, BIG) == ("cycle", f"${step}[0]", None, None)
    assert reason(profile.encode, loop, BIG, max_depth=2) == "depth"
    assert reason(profile.encode, loop, BIG, max_depth=3) == "cycle"
    assert reason(profile.encode, loop, 2) == "bytes"


def test_a_list_that_holds_itself(profile):
    loop = []
    loop.append(loop)
    assert reason(profile.encode, loop, BIG, max_depth=1) == "depth"
    assert reason(profile.encode, loop, BIG, max_depth=2) == "cycle"


def test_the_same_container_side_by_side_is_no_cycle(profile):
    part = {"a": [1]}
    value = [part, part, {"x": part}, (part["a"], part)]
    want = b'[{"a":[1]},{"a":[1]},{"x":{"a":[1]}},[[1],{"a":[1]}]]'
    assert profile.encode(value, len(want)) == want
    assert refusal(profile.encode, value, len(want) - 1)[3] == len(want)


@pytest.mark.parametrize("first", range(4))
def test_shared_parts_are_charged_at_each_occurrence(profile, first):
    part = ["x" * 40, {"name": [1, 2, 3]}]
    value = {"b": [part, part], "a": part, "z": [[part], object()]}
    # Limits at which the walk ends at each node of each part, and beyond them.
    for limit in range(first, 300, 4):
        with pytest.raises(oracle.Refused) as caught:
            oracle.encode(value, limit)
        assert refusal(profile.encode, value, limit) == caught.value.args


def test_a_shared_part_that_is_deeper_the_second_time_is_still_too_deep(profile):
    part = nested("list", 30, ["x" * 50])
    value = [part, nested("list", 33, part)]
    profile.encode(value, BIG, max_depth=65)
    why, path, *_ = refusal(profile.encode, value, BIG, max_depth=64)
    assert (why, path) == ("depth", "$[1]" + "[0]" * 63)


def test_doubled_lists_that_fit_are_written_in_full(profile):
    value = doubled(10, 7)
    data = profile.encode(value, BIG)
    assert data.count(b"7") == 1024
    assert profile.encode(value, len(data)) == data
    assert refusal(profile.encode, value, len(data) - 1)[3] == len(data)


# --- section 2.3 and 4: phase 2, received mode ---

RECEIVED = {
    "half": (0.5, 3, 3),
    "two-tiny": ([1e-8, 1e-8], 13, 9),
    "longest": (-2.2250738585072014e-308, 24, 3),
    "float-and-text": ([1.5e300, "x" * 40], 53, 48),
    "four-pis": ([math.pi] * 4, 73, 17),
    "no-float": ([1, "a", None], 12, 12),
    "in-members": ({"a": 1e-8, "b": {"c": 1e-8}}, 27, 23),
}


@pytest.mark.parametrize(
    ("value", "strict", "received"), RECEIVED.values(), ids=RECEIVED
)
def test_the_smallest_limits_of_both_modes(profile, value, strict, received):
    data = profile.encode(value, strict)
    assert len(data) == strict
    assert refusal(profile.encode, value, strict - 1)[3] in (strict, None)
    assert profile.encode(value, received, received=True) == data
    assert profile.check(value, received, received=True) == strict
    assert reason(profile.encode, value, received - 1, received=True) == "bytes"


def test_phase_1_never_sees_the_allowance(profile):
    value = [1.5e300, "x" * 40]
    assert refusal(profile.encode, value, 42, received=True) == (
        "bytes",
        "$[1]",
        42,
        None,
    )
    assert refusal(profile.encode, value, 43, received=True) == ("bytes", "$", 43, 53)


def test_a_shared_list_of_floats_adds_its_allowance_at_each_place(profile):
    part = [math.pi] * 8
    value = [part, part, [part]]
    data = profile.encode(value, BIG)
    least = len(data) - 24 * 14
    assert profile.encode(value, least, received=True) == data
    assert refusal(profile.encode, value, least - 1, received=True)[3] == len(data)


def test_a_float_of_three_bytes_or_fewer_adds_nothing(profile):
    assert profile.encode([0.5] * 9, 37, received=True)
    assert refusal(profile.encode, [0.5] * 9, 36, received=True)[3] == 37


# --- what every call keeps ---


def test_arguments_are_keyword_only_where_the_contract_says_so(profile):
    with pytest.raises(TypeError):
        profile.encode([], BIG, 64)
    with pytest.raises(TypeError):
        profile.encode([])


@pytest.mark.parametrize("value", [{"b": [1, {"a": "é"}]}, [object()], ["x" * 99]])
def test_the_input_and_its_reference_counts_stay_as_they_were(profile, value):
    parts = [value, *(value.values() if isinstance(value, dict) else value)]
    before = repr(value), [sys.getrefcount(part) for part in parts]
    for function in (
        profile.encode,
        profile.check,
        profile.freeze,
        profile.fingerprint,
    ):
        for limit in (3, 50, BIG):
            with contextlib.suppress(ProfileError):
                function(value, limit)
    assert (repr(value), [sys.getrefcount(part) for part in parts]) == before


def test_every_double_of_a_bit_pattern_is_spelled_as_python_does(profile):
    pattern = 0x9E3779B97F4A7C15
    values = []
    for step in range(2000):
        number = struct.unpack(">d", struct.pack(">Q", pattern * step % 2**64))[0]
        if math.isfinite(number):
            values.append(number)
    want = "[" + ",".join(map(repr, values)) + "]"
    assert profile.encode(values, BIG) == want.encode()
