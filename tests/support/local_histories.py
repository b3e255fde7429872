"""Histories of programs in files, recorded on the real helper and the real engine."""

import asyncio
import importlib.util
import textwrap

from ledgence.local._replay import History
from ledgence.worker._profile import thaw
from ledgence.worker.workflow._limits import SCHEMA
from ledgence.worker.workflow._run import run_activation
from tests.support.local_world import SCOPE


def helper(handler):
    """Return a scripted program that runs a real controller."""

    def play(job):
        async def rpc(operation, payload):
            return job.request(operation, payload)

        extension = {"schema": SCHEMA, "payload": job.payload}
        decision = run_activation(handler, job.event, extension, rpc, None)
        return thaw(asyncio.run(decision))

    return play


def write(directory, source, name="program.py"):
    """Write a program and return its target."""
    path = directory / name
    path.write_text(textwrap.dedent(source), encoding="utf-8")
    return f"{path}:handle"


def load(target):
    """Import a program under the name that a runner gives it."""
    path = target.rpartition(":")[0]
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def enrol(world, name, target):
    """Let a world run a program of a file; return its module."""
    module = load(target)
    world.program(name, helper(module.handle))
    return module


def history_of(world, workflow_id):
    """Return what an export shows now."""
    request = {"scope": SCOPE, "workflow_id": workflow_id}
    return History.of_workflow(world.look, request)
