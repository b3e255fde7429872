"""Short ways to say what a profile function must do."""

import pytest

from ledgence.worker._exceptions import ProfileError


def refusal(function, *args, **kwargs):
    """The refusal of a call, which must be one: (reason, path, limit, size)."""
    with pytest.raises(ProfileError) as caught:
        function(*args, **kwargs)
    error = caught.value
    assert error.limit is None or type(error.limit) is int
    return error.reason, error.path, error.limit, error.size


def reason(function, *args, **kwargs):
    """The reason alone."""
    return refusal(function, *args, **kwargs)[0]


def nested(kind, count, leaf=None):
    """``count`` containers around a leaf."""
    for _ in range(count):
        leaf = {
            "list": lambda v: [v],
            "tuple": lambda v: (v,),
            "dict": lambda v: {"k": v},
        }[kind](leaf)
    return leaf


def doubled(times, leaf=0):
    """Lists that hold the next one twice: 2 ** times paths to the leaf."""
    for _ in range(times):
        leaf = [leaf, leaf]
    return leaf
