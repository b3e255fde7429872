"""Requests of running programs that the engine refuses."""

import pytest

from ledgence.local import LocalHost
from ledgence.local._engine import Conflict, Engine, OwnershipLost, Unavailable
from tests.support.local_host import Heard, attempts_of, write

FLOW = """
import os
import sys

from ledgence.worker.workflow import workflow_context


def step():
    return os.getpid()


async def handle(event):
    ctx = workflow_context()
    try:
        pid = await ctx.local("s", step)
    finally:
        print("goes on", file=sys.stderr, flush=True)
    return ctx.complete([pid, os.getpid()])
"""


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return write(tmp_path_factory.mktemp("programs"), "flow", FLOW)


@pytest.mark.parametrize("in_process", [False, True], ids=["process", "here"])
@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        (Conflict("no"), ("protocol", 1)),
        (OwnershipLost("no"), ("cancelled", 2)),
        (Unavailable("no"), ("unavailable", 2)),
    ],
    ids=["conflict", "ownership", "unavailable"],
)
def test_a_refusal_is_not_answered_and_ends_the_attempt(
    target, monkeypatch, refusal, expected, in_process
):
    """The process is killed where it waits; the kind says whether it is tried again."""
    kind, attempts = expected
    plain, left = Engine.runtime_request, [1]

    def refuse_once(engine, *arguments, **options):
        left[0] -= 1
        if left[0] == 0:
            raise refusal
        return plain(engine, *arguments, **options)

    monkeypatch.setattr(Engine, "runtime_request", refuse_once)
    heard = Heard()
    with LocalHost(
        programs={"flow": target}, listener=heard, in_process=in_process
    ) as host:
        run = host.start_workflow("flow")
        outcome = host.result(run)
        (activation,) = host.history(run).activations
        found = attempts_of(host, activation["activation_id"])
    assert len(found) == attempts
    failure = found[0]["settlement"]["result"]["failure"]
    assert failure["error"]["kind"] == kind
    assert outcome.succeeded == (attempts == 2)
    if not in_process:
        # What was killed did not go on; what was tried again did, in a new process.
        assert len(heard.outputs) == attempts - 1
