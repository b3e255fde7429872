"""ProfileError and the spelling of paths."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgence.worker._exceptions import ProfileError
from ledgence.worker._profile_path import spell
from tests.support import oracle

TEXTS = {
    "not JSON": ProfileError("syntax"),
    "$.a: not a JSON value": ProfileError("type", "$.a"),
    "$[0]: nested too deeply: more than 64 containers inside each other": (
        ProfileError("depth", "$[0]", 64)
    ),
    "$: too large: more than 10 bytes of JSON": ProfileError("bytes", "$", 10),
    "$: too large: 12 bytes of JSON, at most 10 are allowed": (
        ProfileError("bytes", "$", 10, 12)
    ),
    "no reason of ours": ProfileError("no reason of ours"),
}


def attributes(error):
    return type(error), error.reason, error.path, error.limit, error.size, str(error)


def test_it_is_a_value_error_with_its_facts_as_attributes():
    error = ProfileError("bytes", "$.a", 10, 12)
    assert isinstance(error, ValueError)
    assert (error.reason, error.path, error.limit, error.size) == (
        "bytes",
        "$.a",
        10,
        12,
    )
    bare = ProfileError("utf8")
    assert (bare.path, bare.limit, bare.size) == (None, None, None)


@pytest.mark.parametrize("error", TEXTS.values(), ids=str)
def test_a_copy_and_a_pickle_keep_every_fact(error):
    assert attributes(copy.copy(error)) == attributes(error)
    assert attributes(copy.deepcopy(error)) == attributes(error)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(error, protocol))
        assert attributes(again) == attributes(error)


@pytest.mark.parametrize(("text", "error"), TEXTS.items(), ids=list(TEXTS))
def test_the_text_says_where_what_and_how_much(text, error):
    assert str(error) == text


def test_both_twins_raise_this_class(profile):
    assert profile.ProfileError is ProfileError
    with pytest.raises(ProfileError) as caught:
        profile.encode(object(), 9)
    assert type(caught.value) is ProfileError


@pytest.mark.parametrize(
    ("steps", "path"),
    [
        ((), "$"),
        ((0,), "$[0]"),
        ((3, 12345), "$[3][12345]"),
        (("orders", 3, "total"), "$.orders[3].total"),
        (("a b",), '$["a b"]'),
        (("",), '$[""]'),
        (("_x9",), "$._x9"),
        (("9x",), '$["9x"]'),
        (("class",), "$.class"),
        (("é",), '$["\\u00e9"]'),
        (("\uff41",), '$["\\uff41"]'),  # an identifier, but not of ASCII
        (("😀",), '$["\\ud83d\\ude00"]'),
        (("\ud800",), '$["\\ud800"]'),
        (("\x00\x1f\x7f",), '$["\\u0000\\u001f\\u007f"]'),
        (('"\\/\b\t\n\f\r',), '$["\\"\\\\/\\b\\t\\n\\f\\r"]'),
        (("x" * 63,), "$." + "x" * 63),
        (("x" * 64,), "$." + "x" * 64),
        (("x" * 65,), '$["' + "x" * 64 + '..."]'),
        (("😀" * 65,), '$["' + "\\ud83d\\ude00" * 64 + '..."]'),
    ],
)
def test_a_path_is_spelled(steps, path):
    assert spell(steps) == path
    assert spell(iter(steps)) == path
    assert path.isascii()


def test_a_name_of_a_subclass_is_spelled_by_what_it_holds():
    class Name(str):
        __slots__ = ()

        def __str__(self):
            return "lie"

        def __len__(self):
            return 0

        def __getitem__(self, key):
            return "lie"

        def isidentifier(self):
            return False

    assert spell([Name("a"), Name("y" * 70)]) == '$.a["' + "y" * 64 + '..."]'


@given(st.lists(st.integers(0) | st.text() | st.characters(codec=None)))
def test_paths_agree_with_the_oracle(steps):
    assert spell(steps) == oracle.path_text(steps)
