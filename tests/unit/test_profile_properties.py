"""What holds of every value, by hypothesis."""

import json
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import oracle
from tests.support.documents import describe
from tests.support.refusals import reason, refusal
from tests.support.strategies import (
    FLOATS,
    INTEGERS,
    MESSAGES,
    OBJECTS,
    TEXTS,
    VALUES,
    WILD,
)

BIG = 1 << 20
# The fixture hands out modules, which keep no state between examples.
every = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


def plain(value):
    """The tree that section 5 makes of a value."""
    if isinstance(value, dict):
        return {name: plain(value[name]) for name in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


@every
@given(VALUES)
def test_a_copy_is_plain_sorted_and_what_thaw_makes_of_the_bytes(profile, value):
    copy = profile.freeze(value, BIG)
    assert describe(copy) == describe(plain(value))
    assert describe(profile.thaw(profile.encode(value, BIG))) == describe(copy)


@every
@given(VALUES)
def test_freezing_twice_changes_nothing(profile, value):
    once = profile.freeze(value, BIG)
    assert describe(profile.freeze(once, BIG)) == describe(once)
    assert profile.encode(once, BIG) == profile.encode(value, BIG)


@every
@given(VALUES)
def test_json_reads_the_same_back(profile, value):
    data = profile.encode(value, BIG)
    assert describe(json.loads(data)) == describe(plain(value))
    assert describe(profile.loads(data, unique=True)) == describe(plain(value))
    assert describe(profile.loads(data + b"\n")) == describe(plain(value))


@every
@given(VALUES)
def test_the_size_is_exact_in_every_function(profile, value):
    data = profile.encode(value, BIG)
    size = len(data)
    assert profile.check(value, size) == size
    assert profile.encode(value, size) == data
    profile.freeze(value, size)
    profile.fingerprint(value, size)
    if size:
        why, _, limit, found = refusal(profile.encode, value, size - 1)
        assert (why, limit) == ("bytes", size - 1)
        assert found in (size, None)


@every
@given(VALUES, st.randoms(use_true_random=False))
def test_the_order_in_which_members_were_added_does_not_matter(profile, value, rng):
    def shuffled(item):
        if isinstance(item, dict):
            pairs = [(name, shuffled(inner)) for name, inner in item.items()]
            rng.shuffle(pairs)
            return dict(pairs)
        if isinstance(item, (list, tuple)):
            return type(item)(shuffled(inner) for inner in item)
        return item

    other = shuffled(value)
    assert profile.encode(other, BIG) == profile.encode(value, BIG)
    assert profile.fingerprint(other, BIG) == profile.fingerprint(value, BIG)


@every
@given(st.dictionaries(TEXTS, st.none(), max_size=12))
def test_names_come_in_the_order_of_their_utf8(profile, value):
    names = list(profile.loads(profile.encode(value, BIG)))
    assert names == sorted(value) == sorted(value, key=str.encode)


@every
@given(TEXTS)
def test_a_text_is_escaped_no_more_than_it_must_be(profile, text):
    want = json.dumps(text, ensure_ascii=False).encode()
    assert profile.encode(text, BIG) == want
    assert profile.encode_frame({text: text}, BIG) == b"{" + want + b":" + want + b"}\n"


@every
@given(INTEGERS | FLOATS)
def test_a_number_is_spelled_as_python_does(profile, number):
    assert profile.encode(number, BIG) == repr(number).encode()
    assert describe(profile.loads(repr(number).encode())) == describe(number)


@every
@given(st.lists(FLOATS, max_size=30))
def test_the_allowance_is_what_floats_have_above_three_bytes(profile, numbers):
    data = profile.encode(numbers, BIG)
    allowance = sum(max(0, len(repr(number)) - 3) for number in numbers)
    least = len(data) - allowance
    assert profile.encode(numbers, least, received=True) == data
    assert reason(profile.encode, numbers, least - 1, received=True) == "bytes"


@every
@given(OBJECTS)
def test_a_frame_is_the_object_in_its_own_order_and_a_newline(profile, value):
    want = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    assert profile.encode_frame(value, BIG) == want
    assert profile.encode_frame(value, len(want)) == want
    assert reason(profile.encode_frame, value, len(want) - 1) == "bytes"
    assert profile.check_wire(value) is None


@every
@given(MESSAGES, st.integers(0, 120))
def test_a_fitted_message_is_the_longest_that_fits(profile, message, room):
    envelope = {"v": 1, "event_id": "é"}
    fixed = len(profile.encode_frame(profile.fit_error(envelope, "k", "", BIG), BIG))
    limit = fixed + room
    frame = profile.fit_error(envelope, "k", message, limit)
    assert len(profile.encode_frame(frame, limit)) <= limit
    kept = frame["error"]["message"]
    whole = message.encode("utf-8", "replace").decode()
    assert whole.startswith(kept)
    if kept != whole:
        frame["error"]["message"] = whole[: len(kept) + 1]
        assert reason(profile.encode_frame, frame, limit) == "bytes"


def outcome(function, *args, **kwargs):
    try:
        result = function(*args, **kwargs)
    except ValueError as error:
        return error.reason, error.path, error.limit, error.size
    except oracle.Refused as error:
        return error.args
    return describe(result)


@every
@given(WILD, st.integers(0, 80), st.sampled_from([1, 2, 3, 64]), st.booleans())
def test_every_outcome_is_that_of_the_oracle(profile, value, limit, depth, received):
    for name in ("encode", "check", "freeze", "fingerprint"):
        arguments = {"max_depth": depth, "received": received}
        want = outcome(getattr(oracle, name), value, limit, **arguments)
        assert outcome(getattr(profile, name), value, limit, **arguments) == want
    want = outcome(oracle.check_wire, value, max_depth=depth)
    assert outcome(profile.check_wire, value, max_depth=depth) == want
    frame = {"o": value}
    want = outcome(oracle.encode_frame, frame, limit, max_depth=depth)
    assert outcome(profile.encode_frame, frame, limit, max_depth=depth) == want


JSON_LIKE = st.text(
    st.sampled_from('[]{},:"\\ \n0123456789eE+-.trufalsnNIy\x01é'), max_size=20
)


@every
@given(JSON_LIKE | st.text(string.printable, max_size=10), st.booleans())
def test_every_line_is_decoded_as_by_the_oracle(profile, text, unique):
    line = text.encode()
    want = outcome(oracle.loads, line, unique=unique)
    assert outcome(profile.loads, line, unique=unique) == want


@every
@given(st.binary(max_size=12))
def test_every_line_of_bytes_is_decoded_as_by_the_oracle(profile, line):
    for data in (line, b'["' + line + b'"]'):
        assert outcome(profile.loads, data) == outcome(oracle.loads, data)


@pytest.mark.parametrize("count", [1, 2, 5])
@every
@given(VALUES)
def test_the_same_value_many_times_has_the_same_outcome(profile, count, value):
    items = [value] * count
    want = b"[" + b",".join([profile.encode(value, BIG)] * count) + b"]"
    assert profile.encode(items, BIG) == want
