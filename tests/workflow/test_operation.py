"""Operations: kind, version, effective arguments, and the record."""

import enum

import pytest

from ledgence.worker.workflow import OperationKind
from tests.support.workflow import (
    EncodedHost,
    Host,
    canonical,
    nest,
    payload,
    record,
    refused,
    within,
)

HERE = __name__
NO_JSON = object()
MODEL, TOOL = OperationKind.MODEL, OperationKind.TOOL


class Other(enum.StrEnum):
    MODEL = "model"


def call_model(messages, model="demo", temperature=0, **options):
    return [messages, model, temperature, options]


def anything(**names):
    return names


def run(ctx, fn=anything, *, key="k", kind=MODEL, version="1", arguments=None):
    given = {} if arguments is None else arguments
    return ctx.operation(key, fn, kind=kind, version=version, arguments=given)


def output(fn, arguments, activation=None, host=None, **names):
    async def call(ctx):
        return await run(ctx, fn, arguments=arguments, **names)

    return within(call, activation, host)


def error(**names):
    return within(lambda ctx: refused(run, ctx, **names))


def envelope(arguments, kind="model", version="1"):
    return {"v": 1, "kind": kind, "version": version, "arguments": arguments}


def test_the_members_of_the_kind_are_in_their_order():
    assert [kind.value for kind in OperationKind] == ["model", "tool"]


@pytest.mark.parametrize("kind", OperationKind)
def test_the_record_carries_kind_version_and_effective_arguments(kind):
    host = Host()
    output(
        call_model,
        {"messages": ["hi"], "top_p": 0.5},
        host=host,
        kind=kind,
        version="v 2",
    )
    (sent,) = host.committed
    assert sent["callable"] == f"{kind.value}:{HERE}:call_model"
    arguments = {"messages": ["hi"], "model": "demo", "temperature": 0, "top_p": 0.5}
    assert sent["input"] == envelope(arguments, kind.value, "v 2")
    assert list(sent["input"]) == ["v", "kind", "version", "arguments"]
    assert sent["output"] == [["hi"], "demo", 0, {"top_p": 0.5}]


def test_the_bytes_of_the_wire_keep_the_order_of_the_envelope():
    host = EncodedHost()
    output(anything, {"zeta": {"b": 1, "a": 2}, "alpha": 1}, host=host, kind=TOOL)
    arguments = b'{"alpha":1,"zeta":{"a":2,"b":1}}'
    inner = b'"input":{"v":1,"kind":"tool","version":"1","arguments":%b}' % arguments
    assert inner in host.lines[0]


@pytest.mark.parametrize("kind", ["model", Other.MODEL, None, 1, OperationKind])
def test_the_kind_is_exactly_a_member(kind):
    found = error(kind=kind)
    assert (found.code, found.argument, found.key) == ("invalid_kind", "kind", "k")
    assert "OperationKind" in str(found)


@pytest.mark.parametrize(
    "key", [None, "", 1, "x" * 129, "a\n", "_approval:", "_approval:x"]
)
def test_the_key_is_that_of_a_local_step(key):
    assert error(key=key).code in ("invalid_text", "reserved_key")


@pytest.mark.parametrize("version", [None, "", 1, "x" * 129, "a\n", True])
def test_the_version_is_a_text(version):
    found = error(version=version)
    assert (found.code, found.argument) == ("invalid_text", "version")


@pytest.mark.parametrize("arguments", [[], "x", type("D", (dict,), {})(), 5])
def test_the_arguments_are_an_exact_dict(arguments):
    found = error(arguments=arguments)
    assert (found.code, found.argument) == ("invalid_type", "arguments")


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"a": object()}, "$.a"),
        ({"a": [float("nan")]}, "$.a[0]"),
        ({"a": nest(63)}, "$.a" + "[0]" * 62),
        ({"a": "x" * 131_072}, "$.a"),
    ],
    ids=["object", "nan", "deep", "large"],
)
def test_the_arguments_are_json_within_the_limits(arguments, path):
    found = error(arguments=arguments)
    assert (found.argument, found.path) == ("arguments", path)


def test_every_argument_may_nest_62_deep():
    assert output(anything, {"a": nest(62)}) == {"a": nest(62)}


def test_the_keyword_parameters_are_required_and_keyword_only():
    def call(ctx):
        names = {"kind": MODEL, "version": "1", "arguments": {}}
        for name in names:
            rest = {key: value for key, value in names.items() if key != name}
            with pytest.raises(TypeError):
                ctx.operation("k", anything, **rest)
        with pytest.raises(TypeError):
            ctx.operation("k", anything, MODEL, "1", {})

    within(call)


def test_arguments_that_do_not_fit_are_refused_at_the_call():
    found = error(fn=call_model, arguments={})
    assert (found.code, found.key) == ("unbound_arguments", "k")


def test_a_default_that_is_no_json_is_refused_at_the_call():
    def fn(a=NO_JSON):
        return a

    found = error(fn=fn)
    assert (found.code, found.path) == ("not_json", "$.a")


def test_a_tuple_default_arrives_as_a_list():
    def fn(a=(1, 2)):
        return [type(a).__name__, a]

    assert output(fn, {}) == ["list", [1, 2]]


def test_arguments_may_have_any_name():
    names = {"key": 1, "fn": 2, "kind": 3, "version": 4, "self": 5, "no identifier": 6}
    assert output(anything, names) == names


def test_supplied_values_and_defaults_are_frozen_at_the_call():
    default = {"t": 0}

    def fn(messages, settings=default):
        found = [list(messages), dict(settings)]
        messages.append("x")
        settings["t"] = 99
        return found

    async def call(ctx):
        arguments = {"messages": ["hi"]}
        step = run(ctx, fn, arguments=arguments)
        arguments["messages"].append("late")
        default["t"] = 5
        return await step

    assert within(call) == [["hi"], {"t": 0}]


def accepted(arguments=None, **names):
    return record(
        callable_=f"model:{HERE}:boom",
        input_=envelope({"value": 3} if arguments is None else arguments, **names),
        output="saved",
    )


def boom(value=3):
    raise AssertionError("it ran")


def other(value=3):
    raise AssertionError("it ran")


@pytest.mark.parametrize(
    "arguments", [{}, {"value": 3}], ids=["default", "spelled out"]
)
def test_a_record_answers_whether_or_not_the_default_is_spelled_out(arguments):
    host = Host()
    activation = payload(local_steps=[accepted()])
    assert output(boom, arguments, activation, host) == "saved"
    assert host.requests == []


CHANGES = {
    "kind": ({"kind": TOOL}, {"$.callable", "$.input.kind"}),
    "version": ({"version": "2"}, {"$.input.version"}),
    "callable": ({"fn": other}, {"$.callable"}),
    "argument": ({"arguments": {"value": 4}}, {"$.input.arguments.value"}),
    "number class": ({"arguments": {"value": 3.0}}, {"$.input.arguments.value"}),
}


@pytest.mark.parametrize(("names", "paths"), CHANGES.values(), ids=CHANGES)
def test_a_record_of_another_operation_conflicts(names, paths):
    found = within(
        lambda ctx: refused(run, ctx, **{"fn": boom, **names}),
        payload(local_steps=[accepted()]),
    )
    assert found.code == "binding_changed"
    assert {entry["path"] for entry in found.diff} == paths


def test_a_changed_default_conflicts():
    def fn(value=3):
        return value

    fn.__qualname__ = "boom"

    def call(ctx):
        fn.__defaults__ = (4,)
        return refused(run, ctx, fn)

    assert within(call, payload(local_steps=[accepted()])).code == "binding_changed"


def test_a_journalled_argument_may_be_longer_here():
    value = [1e-08] * 30_000
    activation = payload(local_steps=[accepted({"value": value})])
    assert len(canonical(value)) > 131_072
    assert output(boom, {"value": value}, activation) == "saved"
    assert error(fn=boom, arguments={"value": value}).code == "too_large"


def test_an_operation_and_a_local_step_never_match():
    async def call(ctx):
        await run(ctx, arguments={"value": 3})
        await ctx.local("j", anything, **envelope({"value": 3}))
        found = refused(ctx.local, "k", anything, **envelope({"value": 3}))
        assert found.code == "binding_changed"
        assert (
            refused(run, ctx, key="j", arguments={"value": 3}).code == "binding_changed"
        )

    within(call)


def test_operations_and_local_steps_share_the_128_keys():
    def call(ctx):
        for i in range(127):
            ctx.local(str(i), anything)
        run(ctx, key="o")
        assert refused(run, ctx, key="p").code == "too_many"

    within(call)


def test_the_whole_input_fits_a_record_before_the_step_starts():
    def call(ctx):
        frame = {
            "key": "k",
            "callable": f"model:{HERE}:anything",
            "input": envelope({"a": ""}),
        }
        room = 131_072 - len(canonical(frame))
        found = refused(run, ctx, arguments={"a": "x" * (room + 1)})
        assert (found.code, found.size) == ("too_large", 131_073)

    within(call)
