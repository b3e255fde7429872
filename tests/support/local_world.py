"""A host without processes: programs are Python functions that play their part.

A scripted program gets a ``Job`` and returns a value. What a real runner would do on
the wire, it does by calling the job: commit a record, fork, look at its context. What
a real parent would see, it tells by raising: ``Died``, ``Fails``, ``TimedOut``.
"""

import itertools
from dataclasses import dataclass, field

from ledgence.local._engine import (
    Descriptor,
    Engine,
    EngineError,
    Inspection,
    ManualClock,
    NotFound,
    Unavailable,
    business_error,
    failure,
    success,
)
from ledgence.local._store import SqliteStore
from ledgence.worker.workflow._activation import check_identity, open_extension

T0 = 1_790_000_000_000
SCOPE = {"tenant_id": "acme", "namespace": "billing"}


class Outcome(Exception):
    """How an invocation ends without a result."""

    failure = None


class Died(Outcome):
    """The process is gone."""

    failure = ("runtime", "the process ended")


class Fails(Outcome):
    """The handler raised (in an activation: a runtime error)."""


class BusinessError(Outcome):
    """An error status, as a foreign helper may send for an activation too."""


class TimedOut(Outcome):
    """The deadline came while the program ran."""

    failure = ("timed_out", "the deadline has come")


class Silent(Outcome):
    """The host never reports."""


@dataclass
class Unconfirmed:
    """A result whose cleanup is not confirmed."""

    output: object


@dataclass
class Job:
    """One attempt as its program sees it."""

    world: "World"
    assignment: object
    payload: dict | None
    report: dict | None = None
    state: dict = field(default_factory=dict)

    @property
    def event(self):
        return self.assignment.event

    @property
    def data(self):
        return self.event["data"]

    @property
    def number(self):
        return self.assignment.number

    @property
    def owner(self):
        return self.assignment.owner

    @property
    def task_id(self):
        return self.owner.task_id

    @property
    def continuation(self):
        return self.payload["continuation"]

    @property
    def wake(self):
        return self.payload.get("wake")

    @property
    def inputs(self):
        return self.payload["inputs"]

    def request(self, operation, payload):
        return self.world.engine.runtime_request(self.owner, operation, payload)

    def commit(self, key, output=None, arguments=None, name="program:step"):
        record = {
            "key": key,
            "callable": name,
            "input": {} if arguments is None else arguments,
            "output": output,
        }
        return self.request("local_step.commit", record)

    def fork(self, key, *branches):
        return self.request("workflow.fork", {"key": key, "branches": list(branches)})

    def _decision(self, kind, **members):
        return {
            "v": 1,
            "activation_id": self.payload["activation_id"],
            "revision": self.payload["revision"],
            "kind": kind,
            **members,
        }

    def _checkpoint(self, kind, to, state, commands, **members):
        return self._decision(
            kind,
            continuation=to,
            state=state,
            commands=list(commands),
            **members,
        )

    def suspend(self, to, *commands, until=None, state=None):
        keys = [c["key"] for c in commands] if until is None else list(until)
        return self._checkpoint("suspend", to, state, commands, until=keys)

    def proceed(self, to, *commands, state=None):
        return self._checkpoint("continue", to, state, commands)

    def wait_event(self, key, to, timeout_ms=None, state=None, commands=()):
        wait = {"kind": "event", "key": key, "timeout_ms": timeout_ms}
        return self._checkpoint("wait", to, state, commands, wait=wait)

    def sleep(self, key, delay_ms, to, state=None):
        wait = {"kind": "timer", "key": key, "delay_ms": delay_ms}
        return self._checkpoint("wait", to, state, (), wait=wait)

    def approval(self, key, to, action, timeout_ms, state=None, **more):
        wait = {
            "kind": "approval",
            "key": key,
            "action": action,
            "timeout_ms": timeout_ms,
            **more,
        }
        return self._checkpoint("wait", to, state, (), wait=wait)

    def complete(self, output=None):
        return self._decision("complete", output=output)

    def fail(self, kind="bad", message="it is bad"):
        return self._decision("fail", error={"kind": kind, "message": message})


def command(key, program="leaf", *, kind=None, queue="q", data=None, **more):
    """A child command; ``kind="workflow"`` for an owned workflow."""
    found = {
        "key": key,
        "program": {"id": program, "version": "1"},
        "queue": queue,
        "data": data,
        **more,
    }
    return found if kind is None else {**found, "kind": kind}


def branch(key, entrypoint="branch", *, queue="q", data=None, **more):
    """A branch of a fork."""
    return {
        "key": key,
        "entrypoint": entrypoint,
        "queue": queue,
        "data": data,
        **more,
    }


def cloud_event(event_id="e-1", data=None, source="urn:test", **more):
    """A small external event."""
    return {
        "specversion": "1.0",
        "id": event_id,
        "source": source,
        "type": "test.happened",
        "datacontenttype": "application/json",
        "data": data,
        **more,
    }


def action(name="program:refund", version="1", **arguments):
    """An approval action."""
    return {"name": name, "version": version, "arguments": arguments}


class World:
    """A host on a manual clock whose programs are functions."""

    def __init__(self, store=None, *, start=T0, prefix="", host_id="host_1"):
        self.clock = ManualClock(start)
        self.store = store or SqliteStore()
        self.programs = {}
        self.digests = {}
        self.outage = False
        self.resolved = []
        self.jobs = []
        self.effects = []
        self._ids = itertools.count(1)
        self._prefix = prefix
        self._keys = itertools.count(1)
        self._operations = itertools.count(1)
        self.engine = Engine(
            self.store,
            self,
            clock=self.clock,
            new_id=self.new_id,
            host_id=host_id,
            listener=self.effects.append,
        )
        self.look = Inspection(self.store)
        self.program("leaf", lambda job: job.data)

    # The engine's ports.

    def new_id(self, kind):
        return f"{kind}_{self._prefix}{next(self._ids):06}"

    def resolve(self, program):
        self.resolved.append(program)
        if self.outage:
            raise Unavailable("the program store is away")
        name = (program.id, program.version)
        if name not in self.digests:
            return None
        return Descriptor(program, self.digests[name], 100)

    # Programs and commands.

    def program(self, name, handler, version="1", digest=None):
        digest = digest or f"sha256:{len(self.digests):064x}"
        self.digests[name, version] = digest
        self.programs[name, version, digest] = handler

    def request(self, program="leaf", data=None, *, key=None, queue="q", **more):
        trace = {"origin_trace": more.pop("trace")} if "trace" in more else {}
        return {
            "idempotency_key": key or f"key-{self._prefix}{next(self._keys)}",
            "input": {
                **SCOPE,
                "queue": queue,
                "program": {"id": program, "version": "1"},
                "data": data,
                **more,
            },
            **trace,
        }

    def submit(self, program="leaf", data=None, **more):
        """Submit a task and return its id."""
        request = self.request(program, data, **more)
        return self.engine.submit_task(request)["task_id"]

    def start(self, program, data=None, **more):
        """Start a workflow and return its id."""
        request = self.request(program, data, **more)
        return self.engine.submit_workflow(request)["workflow_id"]

    def send(self, workflow_id, key, event=None, **more):
        return self.engine.send_event(
            {
                "scope": SCOPE,
                "workflow_id": workflow_id,
                "key": key,
                "event": event or cloud_event(**more),
            }
        )

    def decide(self, workflow_id, key, decision="approve", **changes):
        """Decide what inspection shows, with some members changed."""
        shown = self.approval(workflow_id, key)
        command = {
            "scope": SCOPE,
            "workflow_id": workflow_id,
            "key": key,
            "activation_id": shown["activation_id"],
            "revision": shown["revision"],
            "action": shown["action"],
            "decision_id": "d-1",
            "decision": decision,
            "reviewer": "alice",
            "reason": None,
            **changes,
        }
        return self.engine.decide_approval(command)

    def cancel_task(self, task_id):
        return self.engine.cancel_task({"scope": SCOPE, "task_id": task_id})

    def cancel(self, workflow_id):
        return self.engine.cancel_workflow({"scope": SCOPE, "workflow_id": workflow_id})

    # What is seen from outside.

    def task(self, task_id):
        return self.look.task_status(self._task(task_id))

    def outcome(self, task_id):
        return self.look.task_result(self._task(task_id))["outcome"]

    def workflow(self, workflow_id):
        return self.look.workflow_status(self._workflow(workflow_id))

    def result(self, workflow_id):
        return self.look.workflow_result(self._workflow(workflow_id))["outcome"]

    def approval(self, workflow_id, key):
        return self.look.approval({**self._workflow(workflow_id), "key": key})

    def children(self, workflow_id):
        page = self.look.children({**self._workflow(workflow_id), "limit": 100})
        return {item["command_key"]: item for item in page["items"]}

    def child(self, workflow_id, key):
        return self.children(workflow_id)[key]["target_id"]

    def has_task(self, task_id):
        try:
            self.task(task_id)
        except NotFound:
            return False
        return True

    @staticmethod
    def _task(task_id):
        return {"scope": SCOPE, "task_id": task_id}

    @staticmethod
    def _workflow(workflow_id):
        return {"scope": SCOPE, "workflow_id": workflow_id}

    # The host.

    def claim(self, **options):
        """Claim and authorise the next attempt."""
        self.engine.pump()
        assignment = self.engine.claim(**options)
        if assignment is None:
            return None
        self.engine.dispatch(assignment.owner)
        payload = None
        if assignment.activation:
            extension = self.engine.activation_extension(assignment.owner)
            # The real helper must take every context that the engine ever gives.
            check_identity(open_extension(extension), assignment.event)
            payload = extension["payload"]
        job = Job(self, assignment, payload)
        self.jobs.append(job)
        return job

    def body(self, result, quiescence="confirmed"):
        return {
            "operation_id": f"op-{next(self._operations)}",
            "quiescence": quiescence,
            "result": result,
        }

    def report(self, job, body):
        job.report = body
        answer = self.engine.report(job.assignment, body)
        self.engine.pump()
        return answer

    def succeed(self, job, output=None, quiescence="confirmed"):
        """Report success."""
        return self.report(job, self.body(success(output), quiescence))

    def break_down(self, job, kind="runtime", message="broken", phase="execution"):
        """Report an execution failure."""
        return self.report(job, self.body(execution(kind, message, phase)))

    def play(self, job):
        """Run the program of a claimed attempt and report what became of it."""
        descriptor = job.assignment.descriptor
        program = descriptor.program
        handler = self.programs[program.id, program.version, descriptor.digest]
        try:
            output = handler(job)
        except Silent:
            return
        except EngineError as error:
            self.break_down(job, error.failure, str(error))
            return
        except Outcome as outcome:
            self._report_outcome(job, outcome)
            return
        if isinstance(output, Unconfirmed):
            self.succeed(job, output.output, "unconfirmed")
        else:
            self.succeed(job, output)

    def _report_outcome(self, job, outcome):
        if outcome.failure is not None:
            self.break_down(job, *outcome.failure)
        elif isinstance(outcome, BusinessError) or job.payload is None:
            self.report(job, self.body(business_error("business_error", str(outcome))))
        else:
            self.break_down(job, "runtime", str(outcome))

    def step(self):
        """Carry out one attempt of the queue ``q``; return it, None without any."""
        job = self.claim(queues=["q"])
        if job is not None:
            self.play(job)
        return job

    def run(self, *, skip=False, horizon_ms=None, most=10_000):
        """Carry out attempts until nothing is available, nor will be when skipping."""
        for _ in range(most):
            if self.step() is not None:
                continue
            ms = self.engine.schedule().skip_ms if skip else None
            if ms is None or (horizon_ms is not None and ms > horizon_ms):
                return
            self.clock.advance(ms)
        raise AssertionError(f"still busy after {most} attempts")

    def advance(self, ms):
        """Let time pass and do what is due then, without running programs."""
        self.clock.advance(ms)
        self.engine.pump()


def execution(kind="runtime", message="broken", phase="execution", **more):
    """The result of an attempt that failed to execute."""
    return failure(kind, message, phase=phase, **more)
