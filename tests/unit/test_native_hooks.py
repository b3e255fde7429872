"""User code that is called in the middle of a wire walk, and what it may do there.

json-profile.md, section 12: any outcome, but no crash, no hang and no bytes that are
not JSON. Where the compiled twin promises more, it is tested here.
"""

import json

import pytest

from tests.support.ids import stable

LIMIT = 100_000


class Hooked(dict):
    """A dict whose items() first does something else."""

    def __init__(self, hook, *pairs):
        super().__init__(pairs)
        self.hook = hook

    def items(self):
        self.hook()
        return super().items()


class Listed(list):
    """A list whose iterator does something before each item."""

    def __init__(self, hook, *items):
        super().__init__(items)
        self.hook = hook

    def __iter__(self):
        for item in super().__iter__():
            self.hook()
            yield item


def decoded(data):
    assert data.endswith(b"\n")
    return json.loads(data)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_list_that_shrinks_meanwhile_ends_early(native, count):
    value = []
    value += [Hooked(lambda: value.__delitem__(slice(count, None))), *range(100)]
    items = decoded(native.encode_frame({"v": value}, LIMIT))["v"]
    assert items == [{}, *range(100)][: max(count, 1)]


def test_a_list_that_grows_meanwhile_shows_what_there_was(native):
    value = []
    hook = Hooked(lambda: value.append(hook))
    value += [hook, hook]
    assert decoded(native.encode_frame({"v": value}, LIMIT)) == {"v": [{}, {}]}
    native.check_wire(value)


def test_a_list_that_is_cleared_keeps_the_item_in_hand_alive(native):
    value = []
    value.append(Listed(value.clear, "only reference", ["nested"]))
    expected = {"v": [["only reference", ["nested"]]]}
    assert decoded(native.encode_frame({"v": value}, LIMIT)) == expected


@pytest.mark.parametrize("change", ["grow", "shrink", "clear"])
def test_a_dict_that_changes_its_size_meanwhile_is_an_error(native, change):
    def hook():
        if change == "grow":
            value["more"] = 1
        elif change == "shrink":
            value.pop("b")
        else:
            value.clear()

    value = {"a": Hooked(hook), "b": [1], "c": "x" * 50}
    with pytest.raises(RuntimeError, match="changed size during iteration"):
        native.encode_frame({"v": value}, LIMIT)


def test_a_dict_whose_names_change_meanwhile_comes_to_an_end(native):
    """Each visit moves the member in hand to the end: there is always a next one."""
    value = {}

    def hook():
        name = next(iter(value))
        value[name + "x"] = value.pop(name)

    value["a"] = Hooked(hook)
    for call in (native.check_wire, lambda v: native.encode_frame(v, LIMIT)):
        with pytest.raises(RuntimeError, match="keys changed during iteration"):
            call(value)


def test_a_value_that_is_replaced_meanwhile_stays_alive(native):
    value = {"a": Hooked(lambda: value.update(a=None)), "b": 1}
    assert decoded(native.encode_frame({"v": value}, LIMIT)) == {"v": {"a": {}, "b": 1}}


def test_a_frame_is_encoded_inside_a_frame(native):
    inner = []

    def hook():
        inner.append(native.encode_frame({"inner": ["y" * 700, Listed(int, 1)]}, LIMIT))

    data = native.encode_frame({"v": ["x" * 600, Hooked(hook), "z" * 600]}, LIMIT)
    assert decoded(data) == {"v": ["x" * 600, {}, "z" * 600]}
    assert decoded(inner[0]) == {"inner": ["y" * 700, [1]]}


class Boom(Exception):
    pass


class Stop(BaseException):
    pass


def raising(error):
    def hook():
        raise error

    return hook


@pytest.mark.parametrize(
    "error", [Boom, Stop, MemoryError, KeyboardInterrupt, RecursionError]
)
@pytest.mark.parametrize("make", [Hooked, Listed])
def test_what_a_hook_raises_passes_through(native, make, error):
    hostile = make(raising(error("mine")), *([("k", 1)] if make is Hooked else [1]))
    for call in (
        lambda: native.encode_frame({"v": ["x" * 3000, hostile]}, LIMIT),
        lambda: native.check_wire([hostile]),
        lambda: native.fit_error({"v": hostile}, "kind", "text", LIMIT),
    ):
        with pytest.raises(error, match="mine"):
            call()
    # The area for output is free again.
    assert native.encode([1], 10) == b"[1]"
    assert native.encode_frame({"v": Listed(int, 1)}, LIMIT) == b'{"v":[1]}\n'


class Pairs(dict):
    def __init__(self, pairs):
        super().__init__()
        self.pairs = pairs

    def items(self):
        return self.pairs


@pytest.mark.parametrize(
    "pairs",
    [None, 5, [5], [None], [()], [("a",)], [("a", 1, 2)], ["abc"]],
    ids=stable,
)
def test_items_that_are_no_pairs_fail_alike_in_both_twins(native, pairs):
    from ledgence.worker import _profile_py as pure

    errors = []
    for twin in (native, pure):
        with pytest.raises((TypeError, ValueError)) as caught:
            twin.encode_frame({"v": Pairs(pairs)}, LIMIT)
        errors.append(caught.type)
    assert errors[0] is errors[1]


def test_pairs_may_be_any_two_of_a_kind(native):
    value = Pairs(iter([["a", 1], "bc", (n for n in ("d", 2))]))
    assert decoded(native.encode_frame({"v": value}, LIMIT)) == {
        "v": {"a": 1, "b": "c", "d": 2}
    }


def test_an_endless_iterator_ends_with_the_budget(native):
    from ledgence.worker._exceptions import ProfileError

    class Endless(list):
        def __iter__(self):
            while True:
                yield None

    with pytest.raises(ProfileError) as refused:
        native.encode_frame({"v": Endless()}, 5000)
    assert (refused.value.reason, refused.value.limit) == ("bytes", 5000)


def test_a_finalizer_that_runs_meanwhile_changes_nothing(native):
    """Objects that die inside a walk may run code of their own."""

    class Dying:
        def __init__(self, victim):
            self.victim = victim

        def __del__(self):
            self.victim.clear()

    class Fresh(dict):
        def items(self):
            Dying(value)
            return []

    value = ["a", Fresh(), "b", ["c"]]
    assert decoded(native.encode_frame({"v": value}, LIMIT)) == {"v": ["a", {}]}
