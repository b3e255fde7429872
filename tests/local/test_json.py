import pytest

from ledgence.local._errors import InputError
from ledgence.local._json import decode_data, decode_line
from ledgence.local._limits import DATA_BYTES
from ledgence.worker._profile import ProfileError

HIGH, LOW = 2**64 - 1, -(2**63)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"{}\n", id="object"),
        pytest.param(b"  {} \r\n", id="whitespace"),
        pytest.param(b"%d" % HIGH, id="highest"),
        pytest.param(b"%d" % LOW, id="lowest"),
        pytest.param(b'"99999999999999999999999"', id="digits-in-a-text"),
        pytest.param(b"0.99999999999999999999999", id="digits-of-a-float"),
        pytest.param(b"[" * 127 + b"]" * 127, id="deepest"),
        pytest.param('{"é":"\U0001f6b2"}'.encode(), id="unicode"),
    ],
)
def test_a_line_within_the_profile_is_decoded(line):
    decode_line(line)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        pytest.param(b"", "syntax", id="empty"),
        pytest.param(b"{} x", "syntax", id="trailing"),
        pytest.param(b"\xef\xbb\xbf{}", "syntax", id="bom"),
        pytest.param(b'"\xff"', "utf8", id="not-utf8"),
        pytest.param(b'{"a":NaN}', "constant", id="nan"),
        pytest.param(b"%d" % (HIGH + 1), "int_range", id="one-above-highest"),
        pytest.param(b"%d" % (LOW - 1), "int_range", id="one-below-lowest"),
        pytest.param(b'{"a":[{"b":%d}]}' % (HIGH + 1), "int_range", id="nested"),
        pytest.param(
            b'{"a":%d,"a":1}' % (HIGH + 1), "int_range", id="hidden-by-a-repetition"
        ),
        pytest.param(b"9" * 5000, "int_range", id="very-many-digits"),
        pytest.param(b"1e400", "non_finite", id="overflow"),
        pytest.param(b'"\\ud800"', "surrogate", id="lone-surrogate"),
        pytest.param(b"[" * 128 + b"]" * 128, "depth", id="too-deep"),
        pytest.param(b"[" * 100_000, "depth", id="far-too-deep"),
    ],
)
def test_a_line_outside_the_profile_is_refused_with_its_reason(line, reason):
    with pytest.raises(ProfileError) as caught:
        decode_line(line)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param(b"{x}", "data_syntax", id="syntax"),
        pytest.param(b'{"a":1,"a":2}', "data_duplicate", id="duplicate"),
        pytest.param(b'{"a":{"b":1,"b":1}}', "data_duplicate", id="deep-duplicate"),
        pytest.param(b"NaN", "data_constant", id="nan"),
        pytest.param(b"1e999", "data_non_finite", id="overflow"),
        pytest.param(b"[1,%d]" % 2**64, "data_int_range", id="integer"),
        pytest.param(b'"\\udfff"', "data_surrogate", id="surrogate"),
        pytest.param(b'"\xe9"', "data_utf8", id="latin-1"),
        pytest.param(b"[" * 65 + b"]" * 65, "data_depth", id="depth"),
        pytest.param(b'"' + b"x" * (DATA_BYTES - 1) + b'"', "data_bytes", id="size"),
    ],
)
def test_unusable_data_is_refused_with_a_stable_code(text, code):
    with pytest.raises(InputError) as caught:
        decode_data(text)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"[" * 64 + b"]" * 64, id="deepest"),
        pytest.param(b'"' + b"x" * (DATA_BYTES - 2) + b'"', id="largest"),
        pytest.param(b'"' + b"x" * (DATA_BYTES - 3) + b'"', id="one-below"),
        pytest.param(b" \t\r\nnull \n", id="whitespace"),
    ],
)
def test_data_at_the_limits_is_taken(text):
    decode_data(text)


def test_a_syntax_error_says_where_and_what():
    with pytest.raises(InputError) as caught:
        decode_data(b'{"a": 1, "b" 2}')
    assert caught.value.details["at"] == "column 14"
    assert '"b" 2' in caught.value.details["near"]


def test_a_syntax_error_of_a_longer_document_says_the_row():
    with pytest.raises(InputError) as caught:
        decode_data(b'{\n  "a": 1,\n  "b" 2\n}\n')
    assert caught.value.details["at"] == "row 3, column 7"


def test_a_value_error_says_the_path():
    with pytest.raises(InputError) as caught:
        decode_data(b'{"orders":[0,{"total":1e999}]}')
    assert caught.value.details["path"] == "$.orders[1].total"
