"""What is measured: one program each, what is sent, and what must come back."""

from bench.e2e.values import document, encode

FRAME_LIMIT = 2 * 1024 * 1024
SMALLEST_LIMIT = 256
SCHEMA = "ledgence.workflow.activation.v1"
TRACE = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}


class Workload:
    """One program, the invocations sent to it, and what must come back."""

    def __init__(
        self,
        name,
        protocol,
        program,
        floor,
        data,
        *,
        cold=False,
        activation=None,
        workflow=False,
        commits=0,
        logs=0,
        processing=None,
        failure=False,
        pool=8,
        output_limit=FRAME_LIMIT,
        short_ids=False,
        expected=None,
    ):
        self.name, self.protocol, self.cold = name, protocol, cold
        self.program, self.floor = program, floor
        self.data, self.activation, self.workflow = data, activation, workflow
        self.commits, self.logs, self.processing = commits, logs, processing
        self.failure, self.pool, self.output_limit = failure, pool, output_limit
        self.short_ids, self.expected = short_ids, expected
        self._invocations = None

    def invocations(self):
        """(frame, reply frames, expected output) for a few different invocations."""
        if self._invocations is None:
            self._invocations = [
                self._invocation(number) for number in range(self.pool)
            ]
        return self._invocations

    def _invocation(self, number):
        if self.short_ids:
            event_id, attempt_id = "e%d" % number, "a%d" % number
        else:
            event_id = "0190b6f2-4c1e-7c55-9d7e-%012x" % (0x5EED00 + number)
            attempt_id = "0190b6f2-4c1f-7a10-8b2c-%012x" % (0xFACE00 + number)
        data = self.data(number)
        event = {
            "specversion": "1.0",
            "id": event_id,
            "source": "urn:example:bench",
            "type": "example.bench.v1",
            "datacontenttype": "application/json",
            "time": "2026-03-04T05:06:07.125Z",
            "ldgtenantid": "tenant-a",
            "ldgnamespace": "default",
            "ldgrunid": "run-%d" % number,
            "ldgtaskid": "task-%d" % number,
            "ldgattemptid": attempt_id,
            "ldgattemptno": 1,
        }
        message = {
            "v": self.protocol,
            "type": "invoke",
            "event_id": event_id,
            "attempt_id": attempt_id,
            "event": event,
        }
        if self.protocol >= 2:
            message["processing_context"] = self.processing
        expected = data
        if self.workflow:
            payload = {
                "v": 1,
                "workflow_id": "wf-%d" % number,
                "activation_id": "act-%d" % number,
                "revision": 0,
                "continuation": "start",
                "state": None,
                "inputs": {},
                "local_steps": [],
            }
            if self.activation is not None:
                payload.update(self.activation(data))
            event.update(
                ldgtaskid=payload["activation_id"],
                ldgactivationid=payload["activation_id"],
                ldgworkflowid=payload["workflow_id"],
            )
            message["extension"] = {"schema": SCHEMA, "payload": payload}
            expected = {
                "v": 1,
                "activation_id": payload["activation_id"],
                "revision": payload["revision"],
                **self.expected(data),
            }
        event["data"] = data
        replies = [
            encode(
                {
                    "v": 3,
                    "type": "runtime_reply",
                    "event_id": event_id,
                    "attempt_id": attempt_id,
                    "id": index + 1,
                    "result": {"committed": True},
                }
            )
            + b"\n"
            for index in range(self.commits)
        ]
        return encode(message) + b"\n", replies, expected


def sized(size):
    return lambda number: document(number, size)


def values(count, size):
    return lambda number: {
        "values": [document(number * 1000 + i, size) for i in range(count)]
    }


def journal(data):
    return {
        "local_steps": [
            {
                "key": "step:%d" % index,
                "callable": "program:step",
                "input": {"index": index},
                "output": value,
            }
            for index, value in enumerate(data["values"])
        ]
    }


def frozen_inputs(data):
    """Resume with 64 finished children, 250 KiB of inputs, 60 KiB of state."""

    def outcome(index, size):
        return {
            "task_id": "task-%d" % index,
            "state": "succeeded",
            "outcome": {
                "kind": "succeeded",
                "attempt_id": "attempt-%d" % index,
                "quiescence": "confirmed",
                "execution_may_have_started": True,
                "output": document(index, size),
            },
        }

    total, count = 250 * 1024, 64
    inputs = {"child:%d" % index: outcome(index, 3600) for index in range(count)}
    missing = total - len(encode(inputs))
    inputs["child:0"] = outcome(0, 3600 + missing)
    return {
        "continuation": "collect",
        "revision": 1,
        "state": document(99, 60 * 1024),
        "inputs": inputs,
    }


def resume_output(data):
    frozen = frozen_inputs(data)
    return {
        "kind": "complete",
        "output": {
            "items": len(frozen["state"]["items"]),
            "children": 64,
            "first": len(frozen["inputs"]["child:0"]["outcome"]["output"]["pad"]),
        },
    }


def children_output(data):
    return {
        "kind": "suspend",
        "continuation": "collect",
        "state": {"batch": 7},
        "commands": [
            {
                "key": "child:%d" % index,
                "program": {"id": "invoice-check", "version": "1.2.0"},
                "queue": "billing",
                "data": value,
                "retry_policy": {"max_attempts": 3, "retry_delay_ms": 5000},
                "attempt_timeout_ms": 300000,
            }
            for index, value in enumerate(data["values"])
        ],
        "until": ["child:%d" % index for index in range(len(data["values"]))],
    }


def steps_output(data):
    return {"kind": "complete", "output": {"steps": len(data["values"])}}


def done_output(data):
    return {"kind": "complete", "output": {"ok": True}}


def workloads():
    small = sized(300)
    result = [
        Workload("cold-p%d" % protocol, protocol, "echo", "echo", small, cold=True)
        for protocol in (1, 2, 3)
    ]
    result.append(
        Workload(
            "cold-workflow",
            3,
            "complete",
            "complete",
            small,
            cold=True,
            workflow=True,
            expected=done_output,
        )
    )
    for protocol in (1, 2, 3):
        for label, size in (
            ("0.3k", 300),
            ("10k", 10_000),
            ("100k", 100_000),
            ("900k", 900_000),
            ("2m", FRAME_LIMIT - 1000),
        ):
            result.append(
                Workload(
                    "echo-p%d-%s" % (protocol, label),
                    protocol,
                    "echo",
                    "echo",
                    sized(size),
                    pool=2 if size > 200_000 else 8,
                )
            )
    result.append(
        Workload("logs-p2-10", 2, "logs", "logs", small, logs=10, processing=TRACE)
    )
    for protocol in (1, 3):
        result.append(
            Workload(
                "fail-p%d-256" % protocol,
                protocol,
                "fail",
                "fail",
                small,
                failure=True,
                output_limit=SMALLEST_LIMIT,
                short_ids=True,
            )
        )
    result.append(
        Workload(
            "wf-complete",
            3,
            "complete",
            "complete",
            small,
            workflow=True,
            expected=done_output,
        )
    )
    for count in (1, 10, 100):
        result.append(
            Workload(
                "wf-local-%d" % count,
                3,
                "local",
                "local",
                values(count, 1000),
                workflow=True,
                commits=count,
                expected=steps_output,
                pool=4,
            )
        )
    result.append(
        Workload(
            "wf-children-64",
            3,
            "children",
            "children",
            values(64, 400),
            workflow=True,
            expected=children_output,
            pool=4,
        )
    )
    result.append(
        Workload(
            "wf-resume-250k",
            3,
            "resume",
            "resume",
            small,
            workflow=True,
            activation=frozen_inputs,
            expected=resume_output,
            pool=4,
        )
    )
    result.append(
        Workload(
            "wf-replay-100",
            3,
            "local",
            "replay",
            values(100, 1000),
            workflow=True,
            activation=journal,
            expected=steps_output,
            pool=4,
        )
    )
    return result
