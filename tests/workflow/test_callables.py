"""Stable names of callables, and the arguments that a call really has."""

import functools
import types

import pytest

from ledgence.worker.workflow._callables import effective_arguments, name_of
from tests.support.ids import stable
from tests.support.workflow import refused

HERE = __name__


def plain():
    return None


@functools.wraps(plain)
def wrapper(*args, **kwargs):
    return plain(*args, **kwargs)


class Methods:
    def method(self, a, b=3):
        return [a, b]

    @classmethod
    def of_class(cls):
        return None

    @staticmethod
    def static():
        return None


class Instance:
    def __call__(self, a):
        return a


class Named:
    def __init__(self):
        self.__qualname__ = "custom"

    def __call__(self):
        return None


def changed(**names):
    def made():
        return None

    for name, value in names.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("fn", "name"),
    [
        (plain, f"{HERE}:plain"),
        (wrapper, f"{HERE}:plain"),
        (Methods().method, f"{HERE}:Methods.method"),
        (Methods.of_class, f"{HERE}:Methods.of_class"),
        (Methods.static, f"{HERE}:Methods.static"),
        (Methods, f"{HERE}:Methods"),
        (Named(), f"{HERE}:custom"),
        (lambda: None, f"{HERE}:<lambda>"),
        (dict, "builtins:dict"),
        (len, "builtins:len"),
    ],
    ids=stable,
)
def test_what_has_a_module_and_a_qualified_name_has_a_name(fn, name):
    assert name_of(fn) == name
    assert name_of(fn, "tool:") == f"tool:{name}"


FAKE = types.SimpleNamespace(__module__="m", __qualname__="q")


@pytest.mark.parametrize(
    "fn",
    [
        None,
        1,
        "f",
        object(),
        FAKE,
        functools.partial(plain),
        Instance(),
        [].append,
        str.upper,
        changed(__module__=None),
        changed(__module__=""),
        changed(__qualname__=""),
        changed(__qualname__="a\nb"),
        changed(__module__=type("T", (str,), {})("m")),
    ],
    ids=stable,
)
def test_other_objects_have_none(fn):
    error = refused(name_of, fn)
    assert (error.code, error.argument) == ("invalid_callable", "fn")
    assert "callable" in str(error)


@pytest.mark.parametrize("prefix", ["", "tool:", "model:"])
def test_a_name_has_at_most_512_bytes_as_a_whole(prefix):
    room = 512 - len(prefix) - len("m:")
    assert len(name_of(changed(__module__="m", __qualname__="q" * room), prefix)) == 512
    fn = changed(__module__="m", __qualname__="q" * (room + 1))
    assert refused(name_of, fn, prefix).code == "invalid_callable"
    fn = changed(__module__="m", __qualname__="é" * (room // 2 + 1))
    assert refused(name_of, fn, prefix).code == "invalid_callable"


def required(a):
    return a


def both(a, *, b=2, **rest):
    return a, b, rest


def star(*args, b=1):
    return args, b


def rest_named(**rest):
    return rest


def defaults(a=(1, 2), b=None):
    return a, b


@functools.wraps(both)
def wrapping(*args, **kwargs):
    return both(*args, **kwargs)


@pytest.mark.parametrize(
    ("fn", "arguments", "wanted"),
    [
        (plain, {}, {}),
        (required, {"a": 1}, {"a": 1}),
        (both, {"a": 1}, {"a": 1, "b": 2}),
        (both, {"a": 1, "z": 9}, {"a": 1, "b": 2, "z": 9}),
        (star, {}, {"b": 1}),
        (rest_named, {"no identifier": 1, "": 2}, {"no identifier": 1, "": 2}),
        (rest_named, {"rest": 1, "key": 2, "fn": 3}, {"rest": 1, "key": 2, "fn": 3}),
        (defaults, {}, {"a": (1, 2), "b": None}),
        (Methods().method, {"a": 1}, {"a": 1, "b": 3}),
        (wrapping, {"a": 1}, {"a": 1, "b": 2}),
        (lambda x: x, {"x": 4}, {"x": 4}),
    ],
    ids=stable,
)
def test_arguments_are_bound_and_defaults_filled_in(fn, arguments, wanted):
    assert effective_arguments(fn, arguments) == wanted


def positional(a, /):
    return a


def positional_default(a=1, /, b=2):
    return a, b


@pytest.mark.parametrize(
    ("fn", "arguments"),
    [
        (required, {}),
        (required, {"b": 1}),
        (required, {"a": 1, "b": 1}),
        (required, {1: 1}),
        (plain, {"a": 1}),
        (positional, {"a": 1}),
        (positional_default, {}),
        (positional_default, {"b": 1}),
        (len, {"obj": []}),
        (type, {}),
    ],
    ids=stable,
)
def test_arguments_that_do_not_fit_are_refused(fn, arguments):
    error = refused(effective_arguments, fn, arguments)
    assert (error.code, error.argument) == ("unbound_arguments", "arguments")
    assert "callable" in str(error)


def test_a_default_that_has_changed_counts():
    def fn(a=1):
        return a

    assert effective_arguments(fn, {}) == {"a": 1}
    fn.__defaults__ = (2,)
    assert effective_arguments(fn, {}) == {"a": 2}
