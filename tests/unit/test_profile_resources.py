"""Time, memory, recursion, threads and hostile hooks: section 12."""

import contextlib
import sys
import threading
import time
import tracemalloc

import pytest

from tests.support.documents import Items, Members, Text
from tests.support.refusals import doubled, nested, reason, refusal

BIG = 1 << 20
FRAME = 2 * BIG
KIB = 1024


def traced_peak(function, *args, **kwargs):
    """The reason of a refusal and the memory that it took at its peak."""
    reason(function, *args, **kwargs)  # imports and caches come first
    tracemalloc.start()
    try:
        why = reason(function, *args, **kwargs)
        return why, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def quick(function, *args, seconds):
    """Whether a call takes less CPU time; always, where its lines are being traced."""
    start = time.process_time()
    function(*args)
    return time.process_time() - start < seconds or sys.gettrace() is not None


def pairs(times, leaf=0):
    for _ in range(times):
        leaf = {"a": leaf, "b": leaf}
    return leaf


def crossed(times):
    """Two lists that hold both of the former two, in turn."""
    one, other = [0], [1]
    for _ in range(times):
        one, other = [one, other], (other, one)
    return one


def empties(times):
    leaf = []
    for _ in range(times):
        leaf = [leaf, leaf, []]
    return leaf


# --- exponential sharing ends after `limit` steps ---

SHARED = {
    "lists": doubled(40),
    "empty-lists": doubled(40, []),
    "objects": pairs(40),
    "crossed": crossed(40),
    "empties": empties(40),
    "texts": doubled(40, "x" * 100),
    "tuples": nested("tuple", 5, doubled(35)),
    "fault-in-the-end": [doubled(38), object()],
}


@pytest.mark.parametrize("value", SHARED.values(), ids=SHARED)
def test_exponential_sharing_is_refused_quickly_and_in_little_memory(profile, value):
    for function in (
        profile.encode,
        profile.check,
        profile.freeze,
        profile.fingerprint,
    ):
        assert reason(function, value, 65536) == "bytes"
    assert quick(reason, profile.encode, value, FRAME, seconds=2)
    frame = {"output": value}
    assert quick(reason, profile.encode_frame, frame, FRAME, seconds=2)
    why, peak = traced_peak(profile.encode, value, 65536)
    assert (why, peak < 8 * 65536) == ("bytes", True)
    why, peak = traced_peak(profile.encode_frame, frame, 65536)
    assert (why, peak < 8 * 65536) == ("bytes", True)


def test_doubling_names_the_place_where_the_budget_ends(profile):
    why, path, limit, size = refusal(profile.encode, doubled(40), 1000)
    assert (why, limit, size) == ("bytes", 1000, None)
    assert path.startswith("$[0][0][0]")
    assert len(path) == 1 + 3 * 40


# --- large scalars are refused before anything is copied ---

HUGE = "x" * (8 * BIG)
HUGE_BMP = "€" * (4 * BIG)


@pytest.mark.parametrize("text", [HUGE, HUGE_BMP], ids=["ascii", "bmp"])
@pytest.mark.parametrize(
    "wrap",
    [lambda t: t, lambda t: [1, t], lambda t: {"a": t}, lambda t: {t: 1}],
    ids=["root", "item", "member", "name"],
)
def test_a_huge_text_is_refused_without_a_copy(profile, text, wrap):
    value = wrap(text)
    for function in (
        profile.encode,
        profile.check,
        profile.freeze,
        profile.fingerprint,
    ):
        why, peak = traced_peak(function, value, 128 * KIB)
        assert (why, peak < 256 * KIB) == ("bytes", True)
    why, peak = traced_peak(profile.encode_frame, {"output": value}, 128 * KIB)
    assert (why, peak < 256 * KIB) == ("bytes", True)


def test_a_huge_text_of_a_subclass_is_refused_without_a_copy(profile):
    text = Text(HUGE)
    for value in ({"a": text}, {text: 1}, {"a": Items([], [text])}):
        why, peak = traced_peak(profile.encode_frame, value, 128 * KIB)
        assert (why, peak < 256 * KIB) == ("bytes", True)


def test_a_huge_integer_is_compared_and_not_printed(profile):
    value = [1 << 40_000_000]
    assert quick(reason, profile.encode, value, BIG, seconds=1)
    why, peak = traced_peak(profile.encode, value, BIG)
    assert (why, peak < 256 * KIB) == ("int_range", True)
    assert reason(profile.check_wire, value) == "int_range"


def test_a_long_message_is_not_copied_to_be_fitted(profile):
    envelope = {"v": 1}
    profile.fit_error(envelope, "k", HUGE, 512)
    tracemalloc.start()
    try:
        profile.fit_error(envelope, "k", HUGE_BMP, 512)
        assert tracemalloc.get_traced_memory()[1] < 64 * KIB
    finally:
        tracemalloc.stop()


def test_a_long_name_makes_no_long_path(profile):
    name = "n" * 100_000
    why, path, *_ = refusal(profile.encode, {name: {name: object()}}, BIG)
    assert (why, len(path) < 200) == ("type", True)


@pytest.mark.parametrize(
    "value",
    [
        ["x" * 1000] * 2000,
        "é" * BIG,
        ["\x01" * 300_000],
        ["é", "x" * BIG],
        "😀" * 250_000,
        list(range(300_000)),
        [1 / 7] * 80_000,
    ],
    ids=["texts", "text", "escapes", "mixed", "astral", "integers", "floats"],
)
def test_an_accepted_value_takes_memory_by_its_size(profile, value):
    # Not by the widest of its code points, nor by the number of its tokens.
    size = profile.check(value, 4 * FRAME)
    tracemalloc.start()
    try:
        profile.encode(value, size)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6 * size


@pytest.mark.parametrize(
    "text", ["\x01" * 200_000, "é\x01" * 99_000], ids=["ascii", "mixed"]
)
@pytest.mark.parametrize("operation", ["encode", "encode_frame"])
def test_what_escapes_make_too_long_takes_memory_by_its_limit(profile, operation, text):
    function, value = getattr(profile, operation), {"o": text}
    limit = len(text.encode()) + 4  # what the walk charges
    why, peak = traced_peak(function, value, limit)
    assert (why, peak < 16 * limit) == ("bytes", True)
    newline = operation == "encode_frame"
    size = profile.check(value, FRAME) + newline
    assert refusal(function, value, limit)[1:] == ("$", limit, size)


# --- depth ---


def deep(count, kind="list"):
    value = 0
    for _ in range(count):
        value = {"list": [value], "dict": {"k": value}}[kind]
    return value


def release(value):
    """Take a deep value apart from the outside: its own end would recurse."""
    while isinstance(value, (list, dict)):
        value = value.pop() if isinstance(value, list) else value.popitem()[1]


@pytest.mark.parametrize("kind", ["list", "dict"])
def test_100_000_containers_inside_each_other_are_refused(profile, kind):
    value = deep(100_000, kind)
    for function in (
        profile.encode,
        profile.check,
        profile.freeze,
        profile.fingerprint,
    ):
        assert reason(function, value, BIG) == "depth"
    assert reason(profile.check_wire, value) == "depth"
    assert reason(profile.encode_frame, {"k": value}, BIG) == "depth"
    release(value)


def below(frames, function):
    """Call a function with so many frames between."""
    return function() if frames <= 0 else below(frames - 1, function)


def room():
    """How many more frames there is room for."""
    try:
        return 1 + room()
    except RecursionError:
        return 0


CALLS = {
    "encode": lambda p: p.encode({"a": [nested("dict", 40, 1.5)]}, BIG),
    "freeze": lambda p: p.freeze([nested("list", 60, "x")], BIG),
    "check_wire": lambda p: p.check_wire(nested("tuple", 60)),
    "encode_frame": lambda p: p.encode_frame({"o": nested("list", 60)}, BIG),
    "refused": lambda p: p.encode(nested("list", 50, object()), BIG),
    "fit_error": lambda p: p.fit_error({"v": 1}, "k", "m" * 99, 99),
    "loads": lambda p: p.loads(b"[" * 256 + b"]" * 256),
    "loads-unique": lambda p: p.loads(b'{"a":' * 256 + b"1" + b"}" * 256, unique=True),
    "loads-fault": lambda p: p.loads(b"[" * 200),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_caller_deep_in_its_own_stack_gets_the_result_or_depth(profile, call):
    def outcome():
        try:
            return "ok", call(profile)
        except profile.ProfileError as error:
            return error.reason, None

    want = outcome()
    assert want[0] in ("ok", "type", "syntax")
    total = room()
    met_limit = 0
    for left in range(1, 420):
        try:
            got = below(total - left, outcome)
        except RecursionError:
            met_limit = left  # not even the first few calls are possible
            continue
        assert got in (want, ("depth", None))
    assert met_limit < 25
    assert below(total - 419, outcome) == want


def test_a_moderately_deep_caller_decodes_256_containers(profile):
    line = b"[" * 256 + b"]" * 256
    for used in (100, 500, 700, 800, room() - 60):
        assert below(used, lambda: profile.loads(line)) == profile.loads(line)


# --- containers that change during the call ---


class Meddling(list):
    """A list whose iterator does something to another container."""

    def __init__(self, action):
        super().__init__([1])
        self.action = action

    def __iter__(self):
        self.action()
        return super().__iter__()


CHANGES = {
    "append": lambda value: value["o"].append(object()),
    "clear": lambda value: value["o"].clear(),
    "grow-root": lambda value: value.update(more=1),
    "shrink-root": lambda value: value.pop("z"),
    "replace-root": lambda value: (value.pop("z"), value.update(y=1)),
    "cycle": lambda value: value["o"].append(value),
    "grow-inner": lambda value: value["d"].update({str(len(value["d"])): 1}),
    "surrogate": lambda value: value["d"].update(s="\ud800"),
    "names": lambda value: value["d"].update({1: 2}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_hook_that_changes_the_value_gets_some_outcome(profile, change):
    def build():
        value = {"d": {"x": 1}, "o": [1]}
        value["o"] += [Meddling(lambda: change(value)), 2, 3]
        value["z"] = [0]
        return value

    for call in (
        lambda: profile.check_wire(build()),
        lambda: profile.loads(profile.encode_frame(build(), BIG)),
    ):
        with contextlib.suppress(profile.ProfileError, RuntimeError):
            call()


def test_a_hook_that_appends_to_the_list_being_walked_ends(profile):
    items = []

    class Adding(list):
        def __iter__(self):
            items.append(Adding())
            return iter(())

    items.append(Adding())
    assert profile.check_wire(items) is None
    profile.encode_frame({"o": items}, BIG)


def test_items_that_never_end_are_ended_by_the_budget(profile):
    class Endless(list):
        def __iter__(self):
            while True:
                yield "x"

    why, _, limit, _ = refusal(profile.encode_frame, {"o": Endless()}, 10_000)
    assert (why, limit) == ("bytes", 10_000)


def test_items_of_pairs_only(profile):
    for shown in ([1], [("a",)], [("a", 1, 2)]):
        with pytest.raises((TypeError, ValueError)):
            profile.encode_frame({"o": Members({}, shown)}, BIG)


@pytest.mark.parametrize(
    "operation", ["encode", "freeze", "encode_frame", "check_wire"]
)
def test_threads_that_change_the_value_cause_no_crash_and_no_hang(profile, operation):
    value = {f"k{index}": [index, {"a": [1, 2, 3]}, "text"] for index in range(300)}
    stop = threading.Event()

    def meddle(seed):
        step = seed
        while not stop.is_set():
            step += 1
            part = value[f"k{step % 300}"]
            part.append(step)
            part[1][f"n{step % 50}"] = part[0]
            if len(part) > 50:
                del part[3:]
                part[1].clear()

    threads = [threading.Thread(target=meddle, args=(seed,)) for seed in (1, 2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    for thread in threads:
        thread.start()
    try:
        for _ in range(60):
            args = () if operation == "check_wire" else (FRAME,)
            try:
                result = getattr(profile, operation)(value, *args)
            except (profile.ProfileError, RuntimeError):
                continue
            if isinstance(result, bytes):
                profile.loads(result)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)


def test_a_list_that_another_thread_extends_without_end_is_no_hang(profile):
    value = [0]
    stop = threading.Event()

    def extend():
        while not stop.is_set() and len(value) < 500_000:
            value.append(1)

    thread = threading.Thread(target=extend)
    thread.start()
    try:
        for _ in range(5):
            profile.check_wire(value)
            with contextlib.suppress(profile.ProfileError):
                profile.encode(value, 5000)
    finally:
        stop.set()
        thread.join()


def test_parallel_calls_do_not_disturb_each_other(profile):
    values = [{"n": n, "t": ["é" * n, {"k": [n / 7] * n}]} for n in range(40)]
    want = [profile.encode(value, BIG) for value in values]
    wrong = []

    def work():
        for _ in range(20):
            for value, data in zip(values, want, strict=True):
                if profile.encode(value, BIG) != data:
                    wrong.append(value)
                if profile.loads(data, unique=True) != value:
                    wrong.append(value)
                if profile.encode(profile.freeze(value, BIG), BIG) != data:
                    wrong.append(value)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
