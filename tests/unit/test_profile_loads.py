"""Decoding: section 9, and thaw of section 5."""

import json
import sys

import pytest

from tests.support.documents import describe, outcome
from tests.support.refusals import reason, refusal

ACCEPTED = {
    "null": ("null", None),
    "true": ("true", True),
    "false": ("false", False),
    "zero": ("0", 0),
    "minus-zero": ("-0", 0),
    "minus-zero-float": ("-0.0", -0.0),
    "int": ("-12", -12),
    "big-int": ("1" * 400, int("1" * 400)),
    "float": ("1.5", 1.5),
    "exponent": ("1E5", 100000.0),
    "signed-exponent": ("1e+5", 100000.0),
    "negative-exponent": ("25e-1", 2.5),
    "overflow": ("1e400", float("inf")),
    "underflow": ("1e-400", 0.0),
    "text": ('"a"', "a"),
    "escapes": ('"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\/\b\f\n\r\t'),
    "unicode-escape": ('"\\u00e9\\u00E9"', "éé"),
    "pair": ('"\\ud83d\\uDE00"', "😀"),
    "lone-high": ('"\\ud83d"', "\ud83d"),
    "lone-low": ('"\\ude00x"', "\ude00x"),
    "wrong-order": ('"\\ude00\\ud83d"', "\ude00\ud83d"),
    "high-then-text": ('"\\ud83dx"', "\ud83dx"),
    "delete": ('"\x7f"', "\x7f"),
    "raw": ('"é😀\u2028\ufeff"', "é😀\u2028\ufeff"),
    "empty-array": ("[]", []),
    "spaced-array": ("[ ]", []),
    "empty-object": ("{}", {}),
    "spaced-object": ("{ \t}", {}),
    "array": ("[1, [2,[]] ,3]", [1, [2, []], 3]),
    "object": ('{"b" : 1 , "a":{"c":[]}}', {"b": 1, "a": {"c": []}}),
    "space-around": (" \t\r\n[1]\n\r\t ", [1]),
    "newline": ("{}\n", {}),
    "empty-name": ('{"":""}', {"": ""}),
    "digits-in-text": (f'["{"7" * 9000}"]', ["7" * 9000]),
    "digits-in-float": (f"[{'7' * 9000}.5]", [float("inf")]),
    "digits-in-fraction": (f"[0.{'3' * 9000}]", [1 / 3]),
    "4300-digits": ("9" * 4300, 10**4300 - 1),
    "minus-4300-digits": ("-" + "9" * 4300, 1 - 10**4300),
}


@pytest.fixture(params=[False, True], ids=["last-wins", "unique"])
def unique(request):
    return request.param


@pytest.mark.parametrize(("text", "value"), ACCEPTED.values(), ids=ACCEPTED)
def test_a_value_is_decoded_to_exact_types(profile, unique, text, value):
    got = profile.loads(text.encode("utf-8"), unique=unique)
    assert describe(got) == describe(value)
    again = profile.loads(f"[{text}]".encode(), unique=unique)
    assert describe(again) == describe([value])


SYNTAX = [
    *("", " ", "\n", "[", "]", "{", "}", "[1", '{"a"', '{"a":', '{"a":1', '"a', '"'),
    *("[1,]", "[,1]", "[1 2]", '{"a":1,}', '{,"a":1}', '{"a" 1}', '{"a":1 "b":2}'),
    *("{a:1}", "{'a':1}", "{1:2}", "{null:1}", "'a'", "[1]]", "[1]x", "1 2", "nul"),
    *("nullx", "True", "None", "+1", "01", "-01", "-", "--1", ".5", "1.", "1.e5", "1e"),
    *("1e+", "0x1", "1_0", "- 1", "/**/1", "1//", '"\n"', '"\x1f"', '"\x00"', '"\t"'),
    *(
        '"\\x"',
        '"\\u12"',
        '"\\u12g4"',
        '"\\u+123"',
        '"\\u 123"',
        '"\\',
        '"\\"',
        "\ufeff1",
    ),
    *("\xa01", "\u20281", "1\x0b", "1\x0c", "1\0", "\x00", "Nan", "-NaN", "infinity"),
    *("-Inf", "[1}", '{"a":1]', "[1,2", '{"a":[}', "\u0661", "[1]\n[2]", '""""'),
]


@pytest.mark.parametrize("text", SYNTAX, ids=ascii)
def test_what_is_no_json_is_a_syntax_fault(profile, unique, text):
    line = text.encode("utf-8")
    assert refusal(profile.loads, line, unique=unique) == ("syntax", None, None, None)
    wrapped = b"[[1], " + line + b", {}]"
    if text.strip() not in ("", "[1]]", "1 2", "[1]\n[2]", "[1]x"):
        assert reason(profile.loads, wrapped, unique=unique) == "syntax"


NOT_UTF8 = {
    "lone-continuation": b"\x80",
    "overlong": b"\xc0\x80",
    "overlong-slash": b"\xe0\x80\xaf",
    "surrogate": b"\xed\xa0\x80",
    "encoded-pair": b"\xed\xa0\xbd\xed\xb8\x80",
    "too-high": b"\xf4\x90\x80\x80",
    "no-such-byte": b"\xff",
    "cut-off": b"\xe2\x82",
    "latin-1": "é".encode("latin-1"),
    "utf-16": '"a"'.encode("utf-16"),
}


@pytest.mark.parametrize("wrong", NOT_UTF8.values(), ids=NOT_UTF8)
def test_the_whole_line_must_be_utf8_before_anything_else(profile, unique, wrong):
    for line in (wrong, b'"' + wrong + b'"', b"[NaN, oops " + wrong, b"[1]" + wrong):
        want = ("utf8", None, None, None)
        assert refusal(profile.loads, line, unique=unique) == want


def test_utf16_without_a_mark_is_utf8_and_no_json(profile):
    assert reason(profile.loads, "[1]".encode("utf-16-le")) == "syntax"


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity"])
def test_a_constant_is_refused_where_it_is_met(profile, unique, token):
    for text in ("{}", "[{}", "[1, {}]", '{{"a": {}', "{} oops", "[{}x"):
        line = text.replace("{}", token).replace("{{", "{").encode()
        assert refusal(profile.loads, line, unique=unique) == (
            *("constant", None, None, None),
        )
    assert reason(profile.loads, f"[oops, {token}]".encode(), unique=unique) == "syntax"
    assert reason(profile.loads, f"{{{token}:1}}".encode(), unique=unique) == "syntax"
    assert profile.loads(f'"{token}"'.encode(), unique=unique) == token


DUPLICATES = {
    "plain": '{"a":1,"a":2}',
    "escaped": '{"a":1,"\\u0061":2}',
    "inner": '[{"x":{"a":1,"b":2,"a":3}}]',
    "empty-name": '{"":1,"":2}',
    "three": '{"a":1,"b":1,"a":2,"a":3}',
}


@pytest.mark.parametrize("text", DUPLICATES.values(), ids=DUPLICATES)
def test_a_repeated_name(profile, text):
    line = text.encode()
    assert refusal(profile.loads, line, unique=True) == ("duplicate", None, None, None)
    assert describe(profile.loads(line)) == describe(json.loads(line))


def test_the_last_value_wins_at_the_place_of_the_first(profile):
    got = profile.loads(b'{"a":1,"b":2,"a":3}')
    assert list(got.items()) == [("a", 3), ("b", 2)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a":1,"a":NaN}', "constant"),
        ('{"a":1,"a":2,oops', "syntax"),
        ('{"a":1,"a":2', "syntax"),
        ('{"a":1,"a":2} oops', "duplicate"),
        ('[{"a":1,"a":2}, NaN]', "duplicate"),
        ('{"b":{"a":1,"a":2},"b":NaN}', "duplicate"),
    ],
)
def test_a_repeated_name_is_noticed_when_the_object_closes(profile, text, why):
    assert reason(profile.loads, text.encode(), unique=True) == why


@pytest.mark.parametrize("digits", [4301, 4302, 8601, 50_000, 1_000_000])
@pytest.mark.parametrize("sign", ["", "-"])
def test_an_integer_of_more_than_4300_digits_is_refused(profile, unique, digits, sign):
    token = sign + "1" * digits
    for text in (token, f"[1, {token}, NaN]", f'{{"a": {token}'):
        want = ("int_range", None, None, None)
        assert refusal(profile.loads, text.encode(), unique=unique) == want
    assert (
        reason(profile.loads, f"[NaN, {token}]".encode(), unique=unique) == "constant"
    )


@pytest.mark.parametrize("before", [*range(0, 4400, 293), 4299, 4300, 4301, 8600])
def test_endless_digits_are_found_wherever_they_stand(profile, before):
    text = " " * before + "[" + "5" * 4301 + "]" + " " * 30
    assert reason(profile.loads, text.encode()) == "int_range"
    fits = " " * before + "[" + "5" * 4300 + "]" + " " * 30
    assert profile.loads(fits.encode()) == [int("5" * 4300)]


@pytest.fixture(params=[0, 640, 1000, 4300, 100_000])
def digit_limit(request):
    """The interpreter's own limit, which is no limit of the profile."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(request.param)
    yield request.param
    sys.set_int_max_str_digits(before)


def test_the_limit_of_digits_is_not_that_of_the_interpreter(
    profile, unique, digit_limit
):
    for count in (639, 640, 641, 999, 1001, 1280, 4299, 4300):
        for sign in (1, -1):
            number = sign * (10**count // 9)
            text = ("-" if sign < 0 else "") + "1" * count
            got = profile.loads(f"[0.5, {text}, -0]".encode(), unique=unique)
            assert got == [0.5, number, 0]
    token = "1" * 4301
    assert reason(profile.loads, f"[{token}]".encode(), unique=unique) == "int_range"


NESTS = {
    "arrays": ("[" * 256 + "]" * 256),
    "spaced-arrays": ("[ " * 256 + "] " * 256),
    "objects": ('{"a":' * 256 + "1" + "}" * 256),
    "mixed": ('[{"a":' * 128 + "null" + "}]" * 128),
    "wide": ("[1," * 256 + "2" + "]" * 256),
}


@pytest.mark.parametrize("text", NESTS.values(), ids=NESTS)
def test_256_containers_inside_each_other_decode(profile, unique, text):
    got = profile.loads(text.encode(), unique=unique)
    assert describe(got) == describe(json.loads(text))


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":', "[1,", '{"b":1,"a":'])
@pytest.mark.parametrize("count", [100_000, 1_000_000])
def test_100_000_containers_are_refused(profile, unique, opening, count):
    line = (opening * count).encode()
    why, path, _, size = refusal(profile.loads, line, unique=unique)
    assert (why, path, size) == ("depth", None, None)


def test_what_stands_between_is_decoded_or_refused_for_depth(profile, unique):
    for count in (300, 500, 900, 980, 1000, 1001, 2000, 5000, 20_000):
        line = b"[" * count + b"]" * count
        what = outcome(profile, "loads", {"line": line, "unique": unique})
        assert what[0] == "ok" or what[:2] == ("refused", "depth")


def test_the_input_stays_as_it_was(profile):
    line = b'{"a":[1,2]}\n'
    before = sys.getrefcount(line)
    for _ in range(5):
        profile.loads(line)
        profile.loads(line, unique=True)
    assert sys.getrefcount(line) == before
    assert line == b'{"a":[1,2]}\n'


def test_thaw_reads_what_encode_wrote(profile):
    value = {"a": [1, -0.0, 1e-05, None, True], "é\n": {"": "😀\x01"}}
    assert describe(profile.thaw(profile.encode(value, 999))) == describe(value)


def test_two_copies_share_nothing(profile):
    data = profile.encode({"a": [[]]}, 99)
    one, other = profile.thaw(data), profile.thaw(data)
    one["a"][0].append(1)
    assert other == {"a": [[]]}
