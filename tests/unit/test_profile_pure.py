"""What only the pure twin has: its second way, and life without an accelerator."""

import hashlib
import importlib
import json
import sys

import pytest

import ledgence.worker
from ledgence.worker import _profile_py as pure
from ledgence.worker._profile_py_json import encoder
from tests.support import oracle
from tests.support.documents import case, describe, outcome
from tests.support.ids import stable
from tests.support.refusals import doubled, nested, reason, refusal

BIG = 1 << 20
PARTS = ("_profile_py", "_profile_py_walk", "_profile_py_loads", "_profile_py_json")
VALUE = {"b": [1, (2.5, None), "é"], "a": {"z": [], "y": {}}}
TEXT = '{"a":{"y":{},"z":[]},"b":[1,[2.5,null],"é"]}'.encode()


@pytest.fixture
def plain(monkeypatch):
    """The pure twin as an interpreter without the accelerator of json has it."""
    monkeypatch.setitem(sys.modules, "_json", None)
    for part in PARTS:
        name = f"ledgence.worker.{part}"
        monkeypatch.setattr(ledgence.worker, part, sys.modules[name])
        monkeypatch.delitem(sys.modules, name)
    return importlib.import_module("ledgence.worker._profile_py")


def test_without_an_accelerator_the_twin_writes_and_reads_itself(plain):
    assert plain is not pure
    assert plain.encode(VALUE, BIG) == TEXT
    assert plain.thaw(TEXT) == plain.freeze(VALUE, BIG) == json.loads(TEXT)
    assert plain.encode_frame({"b": 1, "a": "\x01"}, 99) == b'{"b":1,"a":"\\u0001"}\n'
    assert reason(plain.loads, b'{"a":1,"a":2}', unique=True) == "duplicate"
    assert reason(plain.loads, b"[" * 100_000) == "depth"


@pytest.mark.parametrize("first", range(0, 2000, 250))
def test_without_an_accelerator_every_outcome_is_the_same(plain, first):
    for seed in range(first, first + 250):
        assert outcome(plain, *case(seed)) == outcome(pure, *case(seed)), seed


# --- trouble between the check and the text ---


def failing(error):
    def write(value, level):
        raise error

    return write


@pytest.mark.parametrize("error", [RecursionError(), ValueError()], ids=stable)
def test_where_the_encoder_fails_the_walk_writes(monkeypatch, error):
    monkeypatch.setattr(pure, "_SORTED", failing(error))
    monkeypatch.setattr(pure, "_ITERATED", failing(error))
    assert pure.encode(VALUE, BIG) == TEXT
    assert pure.encode(VALUE, len(TEXT)) == TEXT
    assert refusal(pure.encode, VALUE, len(TEXT) - 1)[3] == len(TEXT)
    assert pure.check_wire(VALUE) is None
    frame = (
        json.dumps(VALUE, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    )
    assert pure.encode_frame(VALUE, len(frame)) == frame
    assert refusal(pure.encode_frame, VALUE, len(frame) - 1)[3] == len(frame)


@pytest.mark.parametrize("seed", range(300))
def test_the_walk_alone_has_the_outcome_of_the_oracle(monkeypatch, seed):
    monkeypatch.setattr(pure, "_SORTED", None)
    monkeypatch.setattr(pure, "_ITERATED", None)
    assert outcome(pure, *case(seed)) == outcome(oracle, *case(seed))


CHANGES = {
    "surrogate": ("\ud800", "surrogate"),
    "nan": (float("nan"), "non_finite"),
    "int": (2**64, "int_range"),
    "other": (object(), "type"),
    "name": ({1: 2}, "key_type"),
}


@pytest.mark.parametrize(("added", "why"), CHANGES.values(), ids=CHANGES)
def test_what_another_thread_adds_after_the_check_is_met_again(monkeypatch, added, why):
    real = pure._SORTED
    value = [1]

    def write(item, level):
        value.append(added)
        return real(item, level)

    monkeypatch.setattr(pure, "_SORTED", write)
    try:
        data = pure.encode(value, BIG)
    except pure.ProfileError as error:
        got = error.reason
    else:
        json.loads(data)
        got = None
    # An integer or a name is not met by the encoder; the text is JSON all the same.
    assert got in (why, None)


def test_a_cycle_that_appears_after_the_check_is_met_again(monkeypatch):
    real = pure._SORTED
    value = [[1]]

    def write(item, level):
        if len(value) == 1:
            value.append(value)
        return real(item, level)

    monkeypatch.setattr(pure, "_SORTED", write)
    assert reason(pure.encode, value, BIG) == "cycle"


def test_the_encoder_refuses_what_is_no_json_value():
    with pytest.raises(ValueError, match=r"^$"):
        encoder(ordered=True)([object()], 0)


# --- the walk ---


def test_more_shared_parts_than_are_remembered():
    parts = [["x" * 40, index, [index]] for index in range(1200)]
    value = [parts, parts, {"k": parts}, object()]
    with pytest.raises(oracle.Refused) as caught:
        oracle.encode(value, BIG)
    assert refusal(pure.encode, value, BIG) == caught.value.args
    for limit in (30_000, 60_000, 70_000, 100_000):
        with pytest.raises(oracle.Refused) as caught:
            oracle.encode(value, limit)
        assert refusal(pure.encode, value, limit) == caught.value.args


def test_a_deep_caller_without_a_few_frames_gets_depth(monkeypatch):
    def exhausted(*args, **kwargs):
        raise RecursionError

    monkeypatch.setattr(pure, "walk", exhausted)
    assert refusal(pure.encode, [object()], BIG) == ("depth", "$", 64, None)
    assert refusal(pure.encode_frame, {"o": object()}, BIG) == ("depth", "$", 65, None)
    assert refusal(pure.check_wire, object()) == ("depth", "$", 64, None)


def test_doubled_lists_of_written_text_are_written_once(monkeypatch):
    monkeypatch.setattr(pure, "_SORTED", None)
    value = doubled(14, {"b": "x" * 30, "a": 1.5})
    text = pure.encode(value, BIG)
    assert text == pure.encode(json.loads(text), BIG)
    assert json.loads(text) == value
    assert refusal(pure.encode, value, len(text) - 1)[3] == len(text)


# --- decoding with a stack of our own ---

SCANNERS = ("_PLAIN", "_UNIQUE", "_LONG", "_UNIQUE_LONG")


@pytest.fixture
def shallow(monkeypatch):
    """Scanners that can take no container, as for a caller deep in its own stack."""
    names = pure.loads.__globals__

    def limited(real):
        def scan(text, start):
            if text[start : start + 1] in {"[", "{"}:
                raise RecursionError
            return real(text, start)

        return scan

    def install():
        for name in SCANNERS:
            monkeypatch.setitem(names, name, limited(names[name]))

    return install


@pytest.mark.parametrize(
    "line",
    [
        b"[]",
        b" { } ",
        b"[" * 200 + b"]" * 200,
        b'[{"a" : [ 1 , {} , [ ] ] , "b":"x"},' + b"[" * 90 + b"]" * 91,
        b'{"a":1,"a":' + b"[" * 95 + b"]" * 95 + b',"b":2}',
        b"[" * 90 + b" 1 , -2.5e3 , true , null " + b"]" * 90,
    ],
)
def test_it_reads_what_the_scanner_reads(shallow, line):
    want = pure.loads(line)
    shallow()
    assert describe(pure.loads(line)) == describe(want)


def test_it_has_the_outcome_of_the_scanner_for_every_line(shallow):
    lines = [seed for seed in range(6000) if case(seed)[0] == "loads"]
    want = [outcome(pure, *case(seed)) for seed in lines]
    shallow()
    assert [outcome(pure, *case(seed)) for seed in lines] == want


def test_it_takes_1000_containers_inside_each_other(shallow):
    shallow()
    for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
        line = opening * 1000 + b"1" + closing * 1000
        assert pure.loads(line)
        why, path, limit, size = refusal(pure.loads, opening + line + closing)
        assert (why, path, limit, size) == ("depth", None, 1000, None)


def test_without_even_a_few_frames_decoding_ends_in_depth(monkeypatch):
    def exhausted(text, start):
        raise RecursionError

    monkeypatch.setitem(pure.loads.__globals__, "_PLAIN", exhausted)
    assert reason(pure.loads, b"1") == "depth"


# --- the hash without its private module ---


@pytest.mark.parametrize(
    "missing", [[], ["_sha2"], ["_sha256"], ["_sha2", "_sha256"]], ids=str
)
def test_the_fingerprint_finds_a_hash(monkeypatch, missing):
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    assert pure.fingerprint([], 9) == hashlib.sha256(b"[]").hexdigest()


def test_without_any_hash_the_import_error_is_seen(monkeypatch):
    for name in ("_sha2", "_sha256", "hashlib"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError):
        pure.fingerprint([], 9)


def test_nested_values_of_every_kind_are_walked_without_recursion():
    value = nested("dict", 127, nested("list", 0, object()))
    why, path, *_ = refusal(pure.encode, value, BIG, max_depth=127)
    assert (why, path) == ("type", "$" + ".k" * 127)
