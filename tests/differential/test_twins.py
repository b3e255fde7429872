"""Twin against twin, and the pure one against the oracle, on seeded documents.

A difference names its seed: ``documents.case(seed)`` builds the case again.
"""

import os

import pytest

from ledgence.worker import _profile_py as pure
from tests.support import oracle
from tests.support.documents import case, describe, outcome

CHUNK = 250
# More by the environment: the first seeds are those of every change.
SEEDS = int(os.environ.get("LEDGENCE_DIFFERENTIAL_SEEDS", "5000"))


def differences(one, other, first):
    found = []
    for seed in range(first, first + CHUNK):
        results = outcome(one, *case(seed)), outcome(other, *case(seed))
        if results[0] != results[1]:
            found.append((seed, case(seed)[0], *results))
    return found


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_the_pure_twin_does_what_the_contract_says(first):
    assert differences(pure, oracle, first) == []


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_both_twins_do_the_same(native, first):
    assert differences(native, pure, first) == []


@pytest.mark.parametrize("first", range(0, 1000, CHUNK))
def test_both_twins_agree_on_one_and_the_same_object(native, first):
    for seed in range(first, first + CHUNK):
        operation, arguments = case(seed)
        results = [outcome(twin, operation, arguments) for twin in (native, pure)]
        assert results[0] == results[1], seed


def test_a_case_is_a_pure_function_of_its_seed():
    for seed in range(300):
        assert outcome(pure, *case(seed)) == outcome(pure, *case(seed))


def test_the_cases_reach_every_operation_and_every_reason():
    seen = {outcome(pure, *case(seed))[:2] for seed in range(4000)}
    reasons = {what[1] for what in seen if what[0] == "refused"}
    assert reasons == {
        *("bytes", "depth", "cycle", "type", "key_type", "surrogate", "int_range"),
        *("non_finite", "utf8", "syntax", "constant", "duplicate"),
    }
    assert {case(seed)[0] for seed in range(200)} == {
        *("encode", "check", "freeze", "fingerprint", "check_wire", "encode_frame"),
        *("fit_error", "loads"),
    }


def test_a_description_tells_apart_what_equality_does_not():
    values = [1, 1.0, True, "1", 0.0, -0.0, b"1", None, [], {}, {"a": 1, "b": 2}]
    values.append({"b": 2, "a": 1})
    assert len({describe(value) for value in values}) == len(values)
