"""Hypothesis strategies of JSON values, inside the profile and at its edges."""

import math

from hypothesis import strategies as st

INTEGERS = st.integers(-(2**63), 2**64 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text()  # no surrogates
SCALARS = st.none() | st.booleans() | INTEGERS | FLOATS | TEXTS


def _containers(children):
    return (
        st.lists(children, max_size=5)
        | st.dictionaries(TEXTS, children, max_size=5)
        | st.lists(children, max_size=4).map(tuple)
    )


VALUES = st.recursive(SCALARS, _containers, max_leaves=25)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=6)
# Anything: also what the profile refuses.
WILD = st.recursive(
    SCALARS
    | st.floats()
    | st.integers()
    | st.text(st.characters(codec=None))
    | st.binary(max_size=3)
    | st.sampled_from([2**64, -(2**63) - 1, math.inf]),
    lambda children: (
        _containers(children) | st.dictionaries(SCALARS, children, max_size=3)
    ),
    max_leaves=20,
)
EDGES = st.sampled_from(
    ['"', "\\", "\n", "\x01", "\x1f", " ", "/", "a", "é", "€", "😀"]
)
MESSAGES = st.text(EDGES | st.characters(codec=None), max_size=40)
