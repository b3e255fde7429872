"""The W3C trace context grammar at its boundaries."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgence.worker._tracecontext import (
    is_carrier,
    is_traceparent,
    is_tracestate,
)

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize(
    "value",
    [
        PARENT,
        PARENT[:-2] + "ff",
        PARENT[:-2] + "00",
        f"00-{'0' * 31}1-{'0' * 15}1-00",
    ],
)
def test_a_traceparent_of_version_00_is_accepted(value):
    assert is_traceparent(value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        PARENT.encode(),
        "",
        PARENT[:-1],
        PARENT + "0",
        PARENT + "\n",
        " " + PARENT[:-1],
        "01" + PARENT[2:],
        "ff" + PARENT[2:],
        PARENT.upper(),
        PARENT.replace("-", "_"),
        PARENT[:35] + "_" + PARENT[36:],
        PARENT[:52] + "_" + PARENT[53:],
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-4bf92f3577b34da6a3ce929d0e0e4736-{'0' * 16}-01",
        PARENT[:-1] + "g",
        "00-" + "é" + PARENT[4:],
        "00-" + "٣" + PARENT[4:],
    ],
)
def test_any_other_traceparent_is_refused(value):
    assert not is_traceparent(value)


PRINTABLE = "".join(chr(n) for n in range(0x20, 0x7F) if chr(n) not in ",=") + "x"
LONG_KEY = "a" * 256
TENANT = "1" + "t" * 240
ACCEPTED = {
    "empty": "",
    "commas and spaces": " , ,",
    "one": "a=b",
    "spaces around": "  a=b  ,  c=d  ",
    "leading space of a value": "a= b",
    "only spaces": "a=b, ",
    "first letters": "a_*/-0=x",
    "longest key": f"{LONG_KEY}=v",
    "tenant": "1tenant@system=x",
    "longest tenant": f"{TENANT}@{'s' * 14}=v",
    "longest value": "a=" + "v" * 256,
    "printable": "a=" + PRINTABLE,
    "32 members": ",".join(f"k{n}=v" for n in range(32)),
    "31 commas": "," * 31,
    "512 characters": "a=" + "v" * 256 + ",b=" + "v" * (512 - 258 - 3),
}
REFUSED = {
    "no text": 5,
    "None": None,
    "no equals": "a",
    "no key": "=b",
    "no value": "a=",
    "two equals": "a=b=c",
    "space before equals": "a =b",
    "upper case": "A=b",
    "digit first": "1a=b",
    "system starts with a digit": "t@1=b",
    "no tenant": "@s=b",
    "no system": "t@=b",
    "two ats": "t@s@u=b",
    "tab": "a=b\t",
    "newline": "a=b\n",
    "delete": "a=\x7f",
    "beyond ASCII": "a=é",
    "key once": "a=1,a=2",
    "key too long": f"{LONG_KEY}a=v",
    "tenant too long": f"{TENANT}t@s=v",
    "system too long": f"t@{'s' * 15}=v",
    "value too long": "a=" + "v" * 257,
    "33 members": ",".join(f"k{n}=v" for n in range(33)),
    "32 commas": "," * 32,
    "513 characters": "a=" + "v" * 256 + ",b=" + "v" * (513 - 258 - 3),
}


@pytest.mark.parametrize("value", ACCEPTED.values(), ids=ACCEPTED)
def test_a_tracestate_within_its_grammar_is_accepted(value):
    assert is_tracestate(value)


@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED)
def test_a_tracestate_outside_its_grammar_is_refused(value):
    assert not is_tracestate(value)


KEY = re.compile(
    r"[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13}"
)


def by_the_book(text):
    """The contract's words as regular expressions."""
    if len(text) > 512 or not text.isascii() or text.count(",") > 31:
        return False
    pieces = [piece.strip(" ") for piece in text.split(",")]
    pairs = [piece.partition("=") for piece in pieces if piece]
    keys = [key for key, _, _ in pairs]
    return len(set(keys)) == len(keys) and all(
        KEY.fullmatch(key)
        and re.fullmatch(r"[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256}", value)
        for key, _, value in pairs
    )


@given(st.text(alphabet="aB1_@=, ~\t*", max_size=24))
def test_the_verdict_is_that_of_the_regular_expressions(text):
    assert is_tracestate(text) == by_the_book(text)


@pytest.mark.parametrize(
    ("carrier", "good"),
    [
        ({"traceparent": PARENT}, True),
        ({"traceparent": PARENT, "tracestate": None}, True),
        ({"traceparent": PARENT, "tracestate": ""}, True),
        ({"tracestate": "a=b", "traceparent": PARENT}, True),
        ({}, False),
        ({"tracestate": "a=b"}, False),
        ({"traceparent": None}, False),
        ({"traceparent": PARENT, "tracestate": "a"}, False),
        ({"traceparent": PARENT, "tracestate": False}, False),
        ({"traceparent": PARENT, "baggage": "a=b"}, False),
        ({"traceparent": PARENT, "tracestate": None, "baggage": ""}, False),
        ({"traceparent": PARENT, "tracestate": "a=b", "baggage": ""}, False),
        ([PARENT], False),
        (PARENT, False),
        (None, False),
        (False, False),
    ],
)
def test_a_carrier_has_a_traceparent_and_maybe_a_tracestate(carrier, good):
    assert is_carrier(carrier) is good
