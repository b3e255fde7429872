"""The CloudEvent profile of event wakes."""

import pytest

from ledgence.worker._exceptions import ActivationError
from ledgence.worker.workflow._cloudevent import check_event
from tests.support.ids import stable
from tests.support.workflow import canonical, external_event, nest

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def fault(event):
    with pytest.raises(ActivationError) as caught:
        check_event(event)
    assert caught.value.code == "invalid_activation"
    return caught.value.path


def test_an_event_is_kept_as_it_was_received():
    event = external_event(extra="é", ldgtaskid="any", flag=True, number=-5)
    assert check_event(event) == canonical(event)


@pytest.mark.parametrize("event", [None, [], "x", 1])
def test_an_event_is_an_object(event):
    assert fault(event) == "$"


@pytest.mark.parametrize("name", ["a", "0", "a" * 300, "data0", "database64"])
def test_attribute_names_are_of_a_to_z_and_digits(name):
    assert check_event(external_event(**{name: "x"}))


@pytest.mark.parametrize("name", ["", "A", "data_base64", "a-b", "é", "a b", "a\n"])
def test_other_attribute_names_are_refused(name):
    assert fault(external_event(**{name: "x"})) == "$"


@pytest.mark.parametrize(
    "value", ["", "é\u2028", True, False, 0, 2**31 - 1, -(2**31)], ids=ascii
)
def test_attributes_are_texts_booleans_and_32_bit_integers(value):
    assert check_event(external_event(extra=value))


@pytest.mark.parametrize(
    "value",
    [None, 1.0, 1.5, [], {}, 2**31, -(2**31) - 1, "a\n", "\x7f", "\ufdd0", "\uffff"],
    ids=ascii,
)
def test_other_attribute_values_are_refused(value):
    assert fault(external_event(extra=value)) == "$.extra"


@pytest.mark.parametrize("name", ["specversion", "datacontenttype"])
@pytest.mark.parametrize("value", [..., "", "1", "1.1", "text/plain", 1, True])
def test_version_and_content_type_are_fixed(name, value):
    assert fault(external_event(**{name: value})) == f"$.{name}"


@pytest.mark.parametrize("name", ["id", "source", "type"])
@pytest.mark.parametrize("value", [..., "", 1, True])
def test_id_source_and_type_are_texts_that_are_not_empty(name, value):
    assert fault(external_event(**{name: value})) == f"$.{name}"


@pytest.mark.parametrize(
    ("name", "limit"), [("id", 128), ("source", 2048)], ids=["id", "source"]
)
def test_id_and_source_are_bounded_in_bytes(name, limit):
    assert check_event(external_event(**{name: "x" * limit}))
    assert fault(external_event(**{name: "x" * (limit + 1)})) == f"$.{name}"


def test_the_bytes_of_an_id_are_those_of_utf_8():
    assert check_event(external_event(id="é" * 64))
    assert fault(external_event(id="é" * 65)) == "$.id"


def test_the_type_is_unbounded():
    assert check_event(external_event(type="x" * 60_000))


def test_the_source_is_a_uri_reference():
    assert fault(external_event(source="a b")) == "$.source"


@pytest.mark.parametrize("data", [None, 0, "", [], {"a": [1.5]}], ids=stable)
def test_data_is_any_json_and_must_be_there(data):
    assert check_event(external_event(data=data))
    assert fault(external_event(data=...)) == "$.data"


def test_data_may_nest_64_deep():
    assert check_event(external_event(data=nest(64)))
    assert fault(external_event(data=nest(65))).startswith("$.data")


def test_the_event_has_at_most_65536_bytes():
    room = 65_536 - len(canonical(external_event(data="")))
    assert check_event(external_event(data="x" * room))
    assert fault(external_event(data="x" * (room + 1))).startswith("$")


def test_what_the_host_spells_shorter_is_not_counted():
    floats = [1e-08] * 10_000
    assert len(canonical(floats)) > 45_000
    assert check_event(external_event(data=floats * 1, pad="x" * 24_000))


@pytest.mark.parametrize("value", ["", 1, True], ids=stable)
@pytest.mark.parametrize("name", ["subject", "dataschema", "time"])
def test_optional_attributes_are_texts_that_are_not_empty(name, value):
    assert fault(external_event(**{name: value})) == f"$.{name}"


def test_optional_attributes_have_their_grammars():
    assert check_event(
        external_event(subject="s", dataschema="a:b", time="2024-01-01T00:00:00Z")
    )
    assert fault(external_event(dataschema="b")) == "$.dataschema"
    assert fault(external_event(dataschema="a:b#c")) == "$.dataschema"
    assert fault(external_event(time="2024-01-01")) == "$.time"


@pytest.mark.parametrize(
    "value", ["", PARENT[:-1], PARENT.upper(), 1, True], ids=stable
)
def test_a_traceparent_has_its_grammar(value):
    assert check_event(external_event(traceparent=PARENT))
    assert fault(external_event(traceparent=value)) == "$.traceparent"


@pytest.mark.parametrize("value", ["a", "a=b=c", "A=b", 1], ids=stable)
def test_a_tracestate_has_its_grammar(value):
    assert check_event(external_event(traceparent=PARENT, tracestate="a=b"))
    event = external_event(traceparent=PARENT, tracestate=value)
    assert fault(event) == "$.tracestate"


def test_a_tracestate_needs_a_traceparent():
    assert fault(external_event(tracestate="a=b")) == "$.tracestate"
