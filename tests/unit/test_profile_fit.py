"""Fitting a failure's message to its frame: section 8."""

import pytest

from tests.support import oracle
from tests.support.documents import Text, describe
from tests.support.refusals import refusal

ENVELOPE = {"v": 1, "type": "result", "event_id": "evt-1", "attempt_id": "attempt-1"}
FIXED = 132  # the frame of business_error with an empty message, newline included
BIG = 1 << 20


def message(profile, text, limit, **kwargs):
    """What is left of a message; its frame is checked against the limit."""
    frame = profile.fit_error(ENVELOPE, "business_error", text, limit, **kwargs)
    assert len(profile.encode_frame(frame, limit)) <= limit
    assert type(frame["error"]["message"]) is str
    return frame["error"]["message"]


def test_the_failure_has_the_envelope_first(profile):
    before = dict(ENVELOPE)
    frame = profile.fit_error(ENVELOPE, "business_error", "no", BIG)
    assert describe(frame) == describe(
        {
            **before,
            "status": "error",
            "error": {"kind": "business_error", "message": "no"},
        }
    )
    assert before == ENVELOPE
    assert type(frame) is dict


def test_another_status(profile):
    frame = profile.fit_error(ENVELOPE, "k", "m", BIG, status="runtime_error")
    assert frame["status"] == "runtime_error"


@pytest.mark.parametrize(
    ("char", "cost"),
    [
        ("x", 1),
        ('"', 2),
        ("\\", 2),
        *((char, 2) for char in "\b\t\n\f\r"),
        ("\x00", 6),
        ("\x0b", 6),
        ("\x1f", 6),
        (" ", 1),
        ("/", 1),
        ("\x7f", 1),
        ("\x80", 2),
        ("é", 2),
        ("\u07ff", 2),
        ("\u0800", 3),
        ("€", 3),
        ("\u2028", 3),
        ("\uffff", 3),
        ("😀", 4),
    ],
    ids=ascii,
)
@pytest.mark.parametrize("room", [*range(14), 124])
def test_the_longest_prefix_that_fits_is_kept(profile, char, cost, room):
    assert message(profile, char * 512, FIXED + room) == char * (room // cost)


@pytest.mark.parametrize("length", [0, 1, 511, 512, 513, 5000])
def test_512_code_points_count(profile, length):
    assert message(profile, "é" * length, BIG) == "é" * min(length, 512)


def test_the_message_is_cut_before_it_is_measured(profile):
    assert message(profile, "x" * 512 + "\ud800", BIG) == "x" * 512
    assert message(profile, "\x01" * 600, FIXED + 6 * 512) == "\x01" * 512
    assert message(profile, "\x01" * 600, FIXED + 6 * 512 - 1) == "\x01" * 511


def test_surrogates_become_question_marks_one_by_one(profile):
    assert message(profile, "a\ud83d\ude00b\udfff", BIG) == "a??b?"
    assert message(profile, "\ud800" * 9, FIXED + 4) == "????"


def test_a_code_point_is_never_split(profile):
    assert message(profile, "ab😀", FIXED + 5) == "ab"
    assert message(profile, "ab😀", FIXED + 6) == "ab😀"
    assert message(profile, "é\nx", FIXED + 3) == "é"


@pytest.mark.parametrize("limit", [0, 1, 60, FIXED - 1])
def test_a_frame_that_cannot_hold_an_empty_message_is_refused_at_the_root(
    profile, limit
):
    why, path, got, size = refusal(
        profile.fit_error, ENVELOPE, "business_error", "long", limit
    )
    assert (why, path, got) == ("bytes", "$", limit)
    assert size in (None, FIXED)


def test_the_smallest_frame_has_an_empty_message(profile):
    assert message(profile, "long", FIXED) == ""
    why, path, limit, size = refusal(
        profile.fit_error, ENVELOPE, "business_error", "", FIXED - 1
    )
    assert (why, path, limit, size) == ("bytes", "$", FIXED - 1, FIXED)


@pytest.mark.parametrize(
    ("extra", "why", "path"),
    [
        ({"n": 2**64}, "int_range", "$.n"),
        ({"n": ["\ud800"]}, "surrogate", "$.n[0]"),
        ({"n": object()}, "type", "$.n"),
        ({"n": {1: 2}}, "key_type", "$.n"),
        ({"n": float("nan")}, "non_finite", "$.n"),
    ],
)
def test_what_is_wrong_with_the_envelope_is_raised(profile, extra, why, path):
    envelope = ENVELOPE | extra
    assert refusal(profile.fit_error, envelope, "k", "m", BIG)[:2] == (why, path)


def test_a_message_of_a_subclass_is_taken_by_what_it_holds(profile):
    assert message(profile, Text("real"), BIG) == "real"
    assert message(profile, Text("y" * 600), BIG) == "y" * 512


@pytest.mark.parametrize("seed", range(40))
def test_the_result_is_that_of_trying_every_prefix(profile, seed):
    text = "".join(
        chr(0x1F * seed % 97 + step * 37 % (0x80 << seed % 9)) for step in range(90)
    )
    for limit in range(FIXED, FIXED + 200, 7):
        want = oracle.fit_error(ENVELOPE, "business_error", text, limit)
        got = profile.fit_error(ENVELOPE, "business_error", text, limit)
        assert describe(got) == describe(want)
