"""Runs pytest with the plugin on a small project, and tells what became of each test.

One run serves many tests of ours: starting pytest costs more than what is tested.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import entry_points

from tests.support.local_cli import PATIENCE, environment

INSTALLED = any(one.name == "ledgence" for one in entry_points(group="pytest11"))
PLUGIN = () if INSTALLED else ("-p", "ledgence.local.pytest_plugin")

CONFTEST = '''
import inspect
import json
from pathlib import Path

import pytest

FOUND = {}


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Runs async tests, as pytest-asyncio and anyio do."""
    import asyncio

    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    asyncio.run(pyfuncitem.obj(**arguments))
    return True


def pytest_runtest_logreport(report):
    name = report.nodeid.rpartition("::")[2]
    text = [report.longreprtext, *(f"{t}\\n{s}" for t, s in report.sections)]
    FOUND.setdefault(name, {})[report.when] = (report.outcome, "\\n".join(text))


def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        Path("found.json").write_text(json.dumps(FOUND))


@pytest.fixture
def ledgence_programs():
    return {"flow": "flow.py:handle", "moody": "moody.py:handle"}
'''

FLOW = """
from ledgence.worker.workflow import workflow_context

activations = 0


def charge(cents):
    print("charging", cents)
    return {"paid": cents}


async def handle(event):
    global activations
    activations += 1
    ctx = workflow_context()
    if ctx.continuation == "start":
        paid = await ctx.local("charge", charge, cents=event["data"])
        mail = ctx.task("mail", program="mail", version="1", queue="q", data=paid)
        return ctx.suspend(continuation="sent", state=paid, until=[mail])
    if ctx.continuation == "sent":
        return ctx.wait_event("received", continuation="end", state=ctx.state)
    return ctx.complete([ctx.wake["event"]["data"], activations])
"""

# Goes another way in every process.
MOODY = """
import os

from ledgence.worker.workflow import workflow_context


def note(n):
    return n


async def handle(event):
    ctx = workflow_context()
    if event["data"] == "step":
        await ctx.local("note", note, n=os.getpid())
    if event["data"] == "environment":
        await ctx.local("note", note, n=os.environ["MOOD"])
    return ctx.complete(os.getpid())
"""


@dataclass(frozen=True)
class Results:
    """What a run of pytest has found."""

    found: dict
    out: str
    err: str

    def outcomes(self, name):
        """The outcomes of setup, call and teardown; ``-`` for what did not happen."""
        phases = self.found[name]
        return [phases.get(w, ("-",))[0] for w in ("setup", "call", "teardown")]

    def text(self, name, when=None):
        """The report of a phase of a test, or of all of them."""
        phases = self.found[name]
        return "\n".join(t for w, (_, t) in phases.items() if when in (None, w))


PASSED = ["passed", "passed", "passed"]


def run_project(directory, tests, *options, ini="", cwd=None):
    """Run tests in a project and return what became of them."""
    files = {"conftest": CONFTEST, "flow": FLOW, "moody": MOODY}
    for name, source in {**files, "test_it": "import pytest\n" + tests}.items():
        (directory / f"{name}.py").write_text(source)
    # pytest-asyncio warns without it, and warnings are errors.
    scope = "asyncio_default_fixture_loop_scope = function"
    (directory / "pytest.ini").write_text(f"[pytest]\n{scope}\n{ini}\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *PLUGIN, "-W", "error", *options, directory],
        capture_output=True,
        check=False,
        cwd=cwd or directory,
        env=environment(PYTHONWARNINGS="error"),
        text=True,
        timeout=PATIENCE,
    )
    file = (cwd or directory) / "found.json"
    assert file.exists(), done.stdout + done.stderr
    return Results(json.loads(file.read_text()), done.stdout, done.stderr)
