"""The integers that every function of the profile takes: both twins refuse alike."""

import pytest

from tests.support.refusals import reason

LIMITED = ("encode", "check", "freeze", "fingerprint", "encode_frame")
DEEP = (*LIMITED, "check_wire")


class Whole(int):
    pass


def call(profile, name, value, *, limit=100, **named):
    positional = (limit,) if name in LIMITED else ()
    return getattr(profile, name)(value, *positional, **named)


@pytest.mark.parametrize("name", DEEP)
@pytest.mark.parametrize("max_depth", [-1, 128, 10**30, -(10**30)])
def test_a_depth_outside_0_to_127_is_refused(profile, name, max_depth):
    with pytest.raises(ValueError, match="from 0 to 127") as refused:
        call(profile, name, {}, max_depth=max_depth)
    text = f"max_depth must be from 0 to 127, got {max_depth}"
    assert str(refused.value) == text
    assert type(refused.value) is ValueError


@pytest.mark.parametrize("name", DEEP)
def test_the_depths_0_and_127_are_taken(profile, name):
    deep, flat = {"k": None}, {}
    for _ in range(126):
        deep = {"k": deep}
    call(profile, name, deep, limit=9999, max_depth=127)
    assert reason(call, profile, name, {"k": deep}, limit=9999, max_depth=127) == (
        "depth"
    )
    assert reason(call, profile, name, flat, max_depth=0) == "depth"


@pytest.mark.parametrize("name", DEEP)
@pytest.mark.parametrize("max_depth", [1.0, "64", None])
def test_a_depth_is_an_int(profile, name, max_depth):
    kind = type(max_depth).__name__
    with pytest.raises(TypeError, match=f"max_depth must be an int, got {kind}"):
        call(profile, name, {}, max_depth=max_depth)


@pytest.mark.parametrize("name", LIMITED)
@pytest.mark.parametrize("limit", [1.5, "100", None])
def test_a_limit_is_an_int(profile, name, limit):
    kind = type(limit).__name__
    with pytest.raises(TypeError, match=f"limit must be an int, got {kind}"):
        call(profile, name, {}, limit=limit, max_depth=-1)


@pytest.mark.parametrize("limit", [1.5, "100", None])
def test_the_limit_of_a_failure_is_an_int(profile, limit):
    with pytest.raises(TypeError, match="limit must be an int"):
        profile.fit_error({}, "kind", "message", limit)


@pytest.mark.parametrize("name", LIMITED)
def test_an_int_of_a_subclass_is_an_int(profile, name):
    found = call(profile, name, {}, limit=Whole(9), max_depth=Whole(1))
    assert found == call(profile, name, {}, limit=9, max_depth=True)
