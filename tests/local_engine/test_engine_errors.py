"""What the engine refuses, and how it says so."""

import pytest

from ledgence.local._engine import (
    Busy,
    Conflict,
    Engine,
    EngineError,
    InvalidInput,
    NotFound,
    ObsoleteOperation,
    OwnershipLost,
    Unavailable,
)
from ledgence.local._engine._engine import random_id
from ledgence.local._errors import LocalError
from ledgence.local._store import SqliteStore
from tests.support.local_world import World

TABLE = [
    (InvalidInput, "invalid_input", 400, "protocol"),
    (NotFound, "not_found", 404, "protocol"),
    (Conflict, "conflict", 409, "protocol"),
    (OwnershipLost, "ownership_lost", 409, "cancelled"),
    (ObsoleteOperation, "obsolete_operation", 409, "protocol"),
    (Busy, "busy", 409, "protocol"),
    (Unavailable, "unavailable", 503, "unavailable"),
]


@pytest.mark.parametrize(
    ("kind", "code", "status", "failure"), TABLE, ids=[row[1] for row in TABLE]
)
def test_an_error_bears_the_names_of_the_service(kind, code, status, failure):
    error = kind("why", details={"key": "k"}, hint="do that")
    assert isinstance(error, EngineError)
    assert isinstance(error, LocalError)
    assert (error.code, error.status, error.failure) == (code, status, failure)
    with_message = code in ("invalid_input", "unavailable")
    expected = {"code": code, "message": "why"} if with_message else {"code": code}
    assert error.body() == expected
    for part in ("why", code, "key: k", "do that"):
        assert part in str(error)


def test_an_invalid_member_is_named_with_what_was_expected_and_found():
    world = World()
    request = world.request(queue="")
    with pytest.raises(InvalidInput) as caught:
        world.engine.submit_task(request)
    details = caught.value.details
    assert details["path"] == "$.input.queue"
    assert "128" in details["expected"]
    assert details["got"] == "''"


def test_a_value_that_is_too_large_says_how_large_and_what_makes_it_so():
    world = World()
    with pytest.raises(InvalidInput) as caught:
        world.submit(data={"small": 1, "big": ["x" * (1 << 20)]})
    assert caught.value.details == {
        "path": "$.input.data",
        "expected": "at most 1048576 bytes",
        "got": "1048598 bytes",
        "largest": "$.input.data.big[0] (1048578 bytes), $.input.data.small (1 bytes)",
    }
    assert "retry does not help" in caught.value.hint


def test_a_value_that_is_far_too_large_is_not_measured_to_its_end():
    world = World()
    with pytest.raises(InvalidInput) as caught:
        world.submit(data=["x" * (1 << 20)] * 20)
    assert caught.value.details["got"].startswith("more than 16777216 bytes")


def test_a_long_message_is_bounded_in_a_reply():
    assert len(InvalidInput("x" * 5000).body()["message"]) == 4096


def test_identifiers_are_random_uuids():
    import uuid

    one, two = random_id("task"), random_id("task")
    assert one != two
    prefix, _, text = one.partition("_")
    assert prefix == "task"
    assert str(uuid.UUID(text)) == text
    assert uuid.UUID(text).version == 4


def test_an_engine_has_sound_defaults():
    engine = Engine(SqliteStore(), World())
    assert engine.host_id.startswith("host_")
    assert engine.schedule().quiet
