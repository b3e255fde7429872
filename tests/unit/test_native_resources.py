"""Resources of the compiled twin (json-profile.md, section 12)."""

import gc
import json
import os
import sys
import threading
import tracemalloc

import pytest

from ledgence.worker._exceptions import ProfileError
from tests.support.ids import stable

MEGABYTE = 2**20
# Sanitizers surround every variable on the stack with guards.
SMALL_STACK = 2**20 if "asan" in os.environ.get("LD_PRELOAD", "") else 128 * 1024


class Members(dict):
    pass


class Items(list):
    pass


def nested(make, count, leaf=None):
    for _ in range(count):
        leaf = make(leaf)
    return leaf


def in_thread(work, stack=SMALL_STACK):
    """Run in a thread with a small C stack; a crash ends the test run."""
    outcome = []

    def body():
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001 - handed to the test
            outcome.append(error)

    before = threading.stack_size(stack)
    try:
        thread = threading.Thread(target=body)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join(60)
    (result,) = outcome
    if isinstance(result, BaseException):
        raise result
    return result


SHAPES = {
    "list": lambda leaf: [leaf],
    "tuple": lambda leaf: (leaf,),
    "dict": lambda leaf: {"k": leaf},
}
WIRE_SHAPES = {
    **SHAPES,
    "list subclass": lambda leaf: Items([leaf]),
    "dict subclass": lambda leaf: Members({"k": leaf}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_deepest_values_need_little_stack(native, shape):
    value = nested(SHAPES[shape], 127)

    def work():
        data = native.encode(value, 5000, max_depth=127)
        assert native.check(value, 5000, max_depth=127) == len(data)
        assert native.encode(
            native.freeze(value, 5000, max_depth=127), 5000, max_depth=127
        )
        return native.thaw(data)

    assert in_thread(work) is not None


@pytest.mark.parametrize("shape", WIRE_SHAPES)
def test_the_deepest_frames_need_little_stack(native, shape):
    value = nested(WIRE_SHAPES[shape], 126)

    def work():
        native.check_wire(value, max_depth=127)
        return native.encode_frame({"output": value}, 5000, max_depth=127)

    assert in_thread(work).endswith(b"}\n")


@pytest.mark.parametrize("line", [b"[" * 100_000, b'{"k":' * 100_000, b"[{" * 100_000])
def test_a_line_nested_without_end_is_refused_on_a_small_stack(native, line):
    def work():
        with pytest.raises(ProfileError) as refused:
            native.loads(line)
        return refused.value.reason

    # "[{" is no JSON: what follows a brace must be a name.
    expected = "syntax" if line.startswith(b"[{") else "depth"
    assert in_thread(work) == expected


def test_decoding_goes_as_deep_as_it_promises(native):
    deep = b"[" * 1000 + b"]" * 1000
    value, levels = native.loads(deep), 1
    while value:
        (value,) = value
        levels += 1
    assert levels == 1000
    with pytest.raises(ProfileError) as refused:
        native.loads(b"[" + deep + b"]")
    assert (refused.value.reason, refused.value.limit) == ("depth", 1000)


def test_walks_inside_hooks_of_walks_end_before_the_stack_does(native):
    class Endless(dict):
        def items(self):
            native.encode_frame(
                nested(SHAPES["list"], 100, Endless()), 9999, max_depth=127
            )
            return []

    with pytest.raises(RecursionError):
        native.check_wire(Endless())
    assert native.encode_frame({"a": Items()}, 99) == b'{"a":[]}\n'


def peak(work):
    work()  # what is loaded once is not counted
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("char", ["a", "é", "€", "😀"], ids=ascii)
@pytest.mark.parametrize("place", ["value", "name"])
def test_a_text_beyond_the_limit_is_refused_without_memory(native, char, place):
    text = char * (8 * MEGABYTE)
    value = [text] if place == "value" else {text: 1}

    def work():
        for call in (native.encode, native.check, native.freeze):
            with pytest.raises(ProfileError) as refused:
                call(value, 131072)
            assert refused.value.reason == "bytes"
        with pytest.raises(ProfileError):
            native.encode_frame({"v": value}, 131072)

    # The path of a refused name quotes its beginning only, and its value's is short.
    assert peak(work) < 256 * 1024


def test_a_huge_integer_is_refused_without_printing_it(native):
    value = [10**200_000]

    def work():
        with pytest.raises(ProfileError) as refused:
            native.encode(value, 131072)
        assert refused.value.reason == "int_range"

    assert peak(work) < 64 * 1024


@pytest.mark.parametrize("count", [10, 60_000])
def test_containers_beyond_the_budget_take_no_room(native, count):
    values = ([None] * count, (None,) * count, {str(n): None for n in range(count)})

    def work():
        for value in values:
            for call in (native.encode, native.freeze, native.check):
                with pytest.raises(ProfileError):
                    call(value, 9)

    assert peak(work) < 64 * 1024


def test_shared_containers_do_not_multiply_the_work(native):
    value = None
    for _ in range(60):
        value = [value, value]
    for call in (native.encode, native.check, native.freeze):
        with pytest.raises(ProfileError) as refused:
            call(value, 655360)
        assert refused.value.reason == "bytes"


@pytest.mark.parametrize(
    "size", [0, 200, 500, 520, 262_000, 262_130, 262_150, 600_000, 3_000_000]
)
def test_results_of_every_size_are_exact(native, size):
    """Around the sizes at which the output moves from one area to the next."""
    value = {"a": "x" * size, "b": [1.5] * 20, "c": "é\n" * 5}
    data = native.encode(value, 10**7)
    assert type(data) is bytes
    assert len(data) == native.check(value, 10**7)
    assert sys.getsizeof(data) == sys.getsizeof(b"") + len(data)
    assert native.loads(data) == value


def test_the_collector_is_left_as_it_was(native):
    line = native.encode([[n] for n in range(5000)], 10**6)
    was = gc.isenabled()
    try:
        for setting in (gc.enable, gc.disable):
            setting()
            expected = gc.isenabled()
            native.freeze(native.loads(line), 10**6)
            for refused in (b"[[1],[", b"[[1],\xff]"):
                with pytest.raises(ProfileError):
                    native.loads(refused)
            with pytest.raises(ProfileError):
                native.freeze([[1], object()], 100)
            assert gc.isenabled() is expected
    finally:
        (gc.enable if was else gc.disable)()


def test_decoding_obeys_no_limit_on_digits_but_its_own(native):
    """A program may lower the interpreter's limit; the contract is 4300 digits."""
    line = b"9" * 4300
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        value = native.loads(line)
    finally:
        sys.set_int_max_str_digits(before)
    assert value == 10**4300 - 1
    with pytest.raises(ProfileError) as refused:
        native.loads(line + b"9")
    assert refused.value.reason == "int_range"


@pytest.mark.parametrize(
    "make", [bytearray, memoryview], ids=lambda make: make.__name__
)
def test_any_buffer_of_bytes_is_decoded(native, make):
    assert native.loads(make(b'{"a":[1]}')) == {"a": [1]}


@pytest.mark.parametrize("line", ["[1]", 5, None, [91, 93]], ids=stable)
def test_what_is_no_buffer_is_not_decoded(native, line):
    with pytest.raises(TypeError):
        native.loads(line)


def test_a_limit_beyond_the_machine_is_no_limit(native):
    assert native.encode([1], 10**30) == b"[1]"


@pytest.mark.parametrize("size", [4095, 4096, 4097, 4099, 20_000])
@pytest.mark.parametrize("unit", ["é", "中", "😀", "a\u00ff\n", "😀\\", '"\ud800中'])
@pytest.mark.parametrize("escaped", [False, True], ids=["raw", "escaped"])
def test_texts_of_every_length_are_decoded_alike(native, unit, size, escaped):
    """Longer ones go to the interpreter's own decoder."""
    text = (unit * size)[:size]
    line = json.dumps([text], ensure_ascii=escaped).encode("utf-8", "surrogatepass")
    if "\ud800" in text and not escaped:
        with pytest.raises(ProfileError) as refused:
            native.loads(line)
        assert refused.value.reason == "utf8"
    else:
        assert native.loads(line) == [text]
        assert native.loads(line.replace(b"[", b"[1,")) == [1, text]
