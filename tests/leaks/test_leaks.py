"""Nothing is left behind by a call, whether it succeeds or fails, wherever it fails.

Each case warms up and is then measured over as many rounds again: the number of
allocated blocks must not grow, and no object of the arguments may have gained or lost a
reference. Nearly every leak of a compiled encoder has been on a failure path, so these
are most of the cases.
"""

import contextlib
import gc
import os
import sys

import pytest

ROUNDS = int(os.environ.get("LEDGENCE_LEAK_ROUNDS", "500"))
ALLOWED = 10  # blocks; caches of the interpreter move by a few


class Text(str):
    __slots__ = ()


class Members(dict):
    pass


class Items(list):
    pass


class Raising(dict):
    def items(self):
        raise KeyError("from a hook")


class RaisingLater(list):
    def __iter__(self):
        yield Text("first")
        raise KeyError("from a hook")


class Odd(dict):
    def items(self):
        return [("a", 1), ("b",)]


class Shrinking(dict):
    """Takes a member away from the dict around it, then puts it back."""

    def __init__(self, around):
        super().__init__()
        self.around = around

    def items(self):
        self.around.pop("gone", None)
        return []


def cyclic():
    value = ["x", {"k": None}]
    value[1]["k"] = (value,)
    return value


def deep(count, leaf=None):
    for level in range(count):
        leaf = {"k" * 9: leaf} if level % 2 else [leaf, "s"]
    return leaf


def prefix():
    """A valid beginning: every kind of value, names out of order."""
    return {
        "z": [1, -5, 2**64 - 1, 10**9, 1.5, 1e300, True, False, None],
        "a": {"é": "ü" * 40, "😀": ["\n" * 10, "中文" * 20, ("t", ())], "": {}},
        "m": {f"{n:03}": n for n in range(60, 0, -1)},
        "long": "x" * 700,
    }


# What stands last, so that everything before it has been built.
FAULTS = {
    "type": object,
    "subclass": lambda: Text("s"),
    "integer": lambda: 2**64,
    "huge integer": lambda: 10**400,
    "nan": lambda: float("nan"),
    "surrogate": lambda: "x" * 20 + "\ud800",
    "latin surrogate": lambda: "é" * 40 + "\udfff",
    "astral surrogate": lambda: "😀" * 9 + "\udfff",
    "name": lambda: {"a": 1, 5: 2},
    "name subclass": lambda: {Text("n"): object()},
    "surrogate name": lambda: {"b": 1, "\ud800": 2},
    "cycle": cyclic,
    "deep": lambda: deep(80),
    "large": lambda: "y" * 30_000,
    "many": lambda: [["z"] * 1000] * 12,
    "wide": lambda: {str(n): "€" * 20 for n in range(400)},
}
HOOKS = {
    "raising items": Raising,
    "raising iterator": RaisingLater,
    "odd pairs": Odd,
}
LINES = {
    "cut": b'{"a":[1,2.5,"x",{"long name":"\\u00e9',
    "comma": b'[{"a":"b"},"\xc3\xa9",]',
    "utf8": b'["x","y",{"a":1},"\xff"]',
    "utf8 late": b'{"a":["\xe4\xb8\xad\\n"]}\xff',
    "utf8 escaped": b'["ok","\\n\xed\xa0\x80"]',
    "escape": b'["\xe4\xb8\xad\\x"]',
    "control": b'["a\tb"]',
    "constant": b'{"a":[1,{"b":NaN}]}',
    "digits": b"[1," + b"9" * 4301 + b"]",
    "duplicate": b'{"a":{"b":1,"b":[2]},"c":3}',
    "depth": b"[" * 1001,
    "colon": b'{"a":1,"b"}',
    "trailing": b'{"a":[1]} x',
    "empty": b"",
    "word": b"[truth]",
    "many": b"[" + b'{"k":"v"},' * 400 + b"?",
}
LONG = b'{"pad":"' + b"x" * 600 + b'","rest":'


def encoders(native, value, limit=20_000):
    """All that take a value, each refusing or not, as a function of nothing."""
    frame = {"v": 1, "output": value}
    return {
        "encode": lambda: native.encode(value, limit),
        "received": lambda: native.encode(value, limit, received=True),
        "check": lambda: native.check(value, limit),
        "freeze": lambda: native.freeze(value, limit),
        "fingerprint": lambda: native.fingerprint(value, limit),
        "check_wire": lambda: native.check_wire(value),
        "encode_frame": lambda: native.encode_frame(frame, limit),
        "fit_error": lambda: native.fit_error(frame, "kind", "m" * 600, limit),
    }


OPERATIONS = tuple(encoders(None, None))


def objects(value, found=None):
    """Every object inside a value, once."""
    found = {} if found is None else found
    if id(value) not in found:
        found[id(value)] = value
        if isinstance(value, dict):
            for name, item in dict.items(value):
                objects(name, found)
                objects(item, found)
        elif isinstance(value, list | tuple):
            children = list.__iter__ if isinstance(value, list) else tuple.__iter__
            for item in children(value):
                objects(item, found)
    return found


def references(value):
    """The reference counts of all objects in a value that can die."""
    counts = {}
    for key, item in objects(value).items():
        count = sys.getrefcount(item)
        if count < 2**28:  # immortal ones have no count
            counts[key] = count
    return counts


def swallow(call):
    with contextlib.suppress(ValueError, TypeError, KeyError, RuntimeError):
        call()


def grown_blocks(call):
    """How many blocks a stretch of rounds leaves allocated."""
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(ROUNDS):
        swallow(call)
    gc.collect()
    return sys.getallocatedblocks() - before


def assert_no_leak(call, value=None):
    for _ in range(ROUNDS):
        swallow(call)
    gc.collect()
    before = references(value)
    # The interpreter and the test runner may keep a few blocks at any time; a leak
    # shows in every stretch.
    stretches = [grown_blocks(call)]
    while stretches[-1] >= ALLOWED and len(stretches) < 3:
        stretches.append(grown_blocks(call))
    after = references(value)
    changed = {key: after[key] - count for key, count in before.items()}
    # Small integers and interned texts are shared with everyone, so they move a little.
    strange = {key: more for key, more in changed.items() if abs(more) >= ROUNDS // 2}
    assert strange == {}
    assert stretches[-1] < ALLOWED, stretches


@pytest.mark.parametrize("operation", OPERATIONS)
def test_success_leaves_nothing(native, operation):
    value = prefix()
    call = encoders(native, value)[operation]
    call()
    assert_no_leak(call, value)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_success_over_subclasses_leaves_nothing(native, operation):
    value = Members(
        a=Items([Text("x"), Text("é" * 30), Members({Text("k"): 1})]), b=[1]
    )
    assert_no_leak(encoders(native, value)[operation], value)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_refusal_leaves_nothing(native, fault, operation):
    value = {**prefix(), "zz": [prefix(), FAULTS[fault]()]}
    assert_no_leak(encoders(native, value)[operation], value)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("limit", [0, 5, 40, 300, 900])
def test_a_budget_that_runs_out_leaves_nothing(native, limit, operation):
    value = prefix()
    assert_no_leak(encoders(native, value, limit)[operation], value)


@pytest.mark.parametrize("operation", ["check_wire", "encode_frame", "fit_error"])
@pytest.mark.parametrize("hook", HOOKS)
def test_an_exception_of_a_hook_leaves_nothing(native, hook, operation):
    value = [prefix(), Members(a=[HOOKS[hook]()])]
    assert_no_leak(encoders(native, value)[operation], value)


def test_a_container_that_changes_meanwhile_leaves_nothing(native):
    around = {"gone": 1, "stays": 2}
    around["hook"] = Shrinking(around)
    keep = ["after"]

    def call():
        around.setdefault("gone", 1)
        around["keep"] = keep
        native.encode_frame({"v": around}, 20_000)

    assert_no_leak(call, keep)


@pytest.mark.parametrize("unique", [False, True], ids=["plain", "unique"])
def test_decoding_leaves_nothing(native, unique):
    line = native.encode(prefix(), 20_000)
    assert_no_leak(lambda: native.loads(line, unique=unique), line)
    assert_no_leak(lambda: native.thaw(line), line)


@pytest.mark.parametrize("unique", [False, True], ids=["plain", "unique"])
@pytest.mark.parametrize("around", ["bare", "long"])
@pytest.mark.parametrize("fault", LINES)
def test_a_refused_line_leaves_nothing(native, fault, around, unique):
    """In lines of more than 512 bytes names are kept until the call ends."""
    line = LINES[fault] if around == "bare" else LONG + LINES[fault] + b"}"
    assert_no_leak(lambda: native.loads(line, unique=unique), line)


@pytest.mark.parametrize(
    "call",
    [
        lambda native: native.encode(1, "limit"),
        lambda native: native.encode(1, 1, max_depth="x"),
        lambda native: native.encode(1, 1, max_depth=1000),
        lambda native: native.encode(1),
        lambda native: native.encode(1, 2, unknown=3),
        lambda native: native.loads("text"),
        lambda native: native.loads(None),
        lambda native: native.fit_error(5, "kind", "text", 100),
        lambda native: native.fit_error({}, "kind", 5, 100),
        lambda native: native.fit_error({1: 2}, "kind", "text", 100),
    ],
    ids=range(10),
)
def test_a_wrong_call_leaves_nothing(native, call):
    assert_no_leak(lambda: call(native))


def test_the_measure_sees_what_is_kept():
    kept = []
    with pytest.raises(AssertionError):
        assert_no_leak(lambda: kept.append(object()))


def test_the_measure_sees_a_lost_or_gained_reference():
    kept, value = [], [["watched"]]
    with pytest.raises(AssertionError):
        assert_no_leak(lambda: kept.append(value[0]), value)
