"""The built-in floor runner: one line in, the least work, one line out.

It checks nothing and is no implementation of the protocol; it shows what the
interpreter and the operating system cost by themselves.
"""

import os
import sys

sys.dont_write_bytecode = True
arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
root = arguments["--package-root"]
version = int(arguments["--protocol-version"])
with open(root + "/floor.txt") as stream:
    kind, modules = stream.read().split("\n")[:2]
os.write(
    1,
    b'{"v":%d,"type":"ready","pid":%d,"python_version":"%s"}\n'
    % (version, os.getpid(), arguments["--python-version"].encode()),
)

if modules:
    sys.path.append(modules)
    import orjson

    loads, dumps = orjson.loads, orjson.dumps
else:
    try:
        # The C parts of the standard json package, without importing the package.
        import _json

        class Options:
            strict, object_hook, object_pairs_hook = True, None, None
            parse_float, parse_int, parse_constant = float, int, float

        scan = _json.make_scanner(Options)
        write = _json.make_encoder(
            None, None, _json.encode_basestring, None, ":", ",", False, False, False
        )

        def loads(data):
            return scan(data.decode(), 0)[0]

        def dumps(value):
            return "".join(write(value, 0)).encode()

        dumps(loads(b"[1]"))
    except Exception:
        import json

        loads, write = (
            json.loads,
            json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode,
        )

        def dumps(value):
            return write(value).encode()


if version >= 3:
    import asyncio

    class Nothing:
        """A selector with nothing to watch."""

        def select(self, timeout=None):
            return []

        def close(self):
            pass

    class Loop(asyncio.SelectorEventLoop):
        """A fresh loop that creates no operating system objects."""

        def __init__(self):
            asyncio.base_events.BaseEventLoop.__init__(self)
            self._selector = Nothing()

        def close(self):
            asyncio.base_events.BaseEventLoop.close(self)

    def in_loop(coroutine):
        loop = Loop()
        try:
            return loop.run_until_complete(coroutine)
        finally:
            loop.close()


if kind == "logs":
    import datetime
    import logging

    log = logging.getLogger("bench.orders")
    log.setLevel(logging.INFO)
    frames = []

    class Handler(logging.Handler):
        def emit(self, record):
            frames.append(
                dumps(
                    {
                        "v": 2,
                        "type": "log",
                        "time": datetime.datetime.fromtimestamp(
                            record.created, datetime.UTC
                        ).isoformat(),
                        "severity": record.levelname,
                        "logger": record.name,
                        "message": record.getMessage(),
                        "attributes": record.attributes,
                        "invocation": identity,
                    }
                )
            )

    log.addHandler(Handler())


def send(data):
    done = os.write(1, data)
    while done < len(data):
        done += os.write(1, memoryview(data)[done:])


def copied(value):
    return loads(dumps(value))


def decision(payload, kind, **fields):
    return {
        "v": 1,
        "activation_id": payload["activation_id"],
        "revision": payload["revision"],
        "kind": kind,
        **fields,
    }


def run(message):
    global identity
    event = message["event"]
    data = event["data"]
    if kind == "echo":
        return data
    if kind == "logs":
        identity = {
            "event_id": message["event_id"],
            "attempt_id": message["attempt_id"],
            "source": event["source"],
            "tenant_id": event["ldgtenantid"],
            "namespace": event["ldgnamespace"],
            "run_id": event["ldgrunid"],
            "task_id": event["ldgtaskid"],
            "attempt_no": event["ldgattemptno"],
        }
        for number in range(10):
            log.info(
                "order %d of batch %s checked",
                number,
                "b-7",
                extra={
                    "attributes": {"order": number, "warehouse": "north", "ratio": 0.5}
                },
            )
        frames.append(b"")
        send(b"\n".join(frames))
        frames.clear()
        return data
    payload = message["extension"]["payload"]
    if kind == "complete":
        return decision(payload, "complete", output={"ok": True})
    if kind == "local":
        index = -1
        for index, value in enumerate(data["values"]):
            send(
                dumps(
                    {
                        "v": 3,
                        "event_id": message["event_id"],
                        "attempt_id": message["attempt_id"],
                        "type": "runtime_request",
                        "id": index + 1,
                        "operation": "local_step.commit",
                        "payload": {
                            "key": "step:%d" % index,
                            "callable": "program:step",
                            "input": {"index": index},
                            "output": value,
                        },
                    }
                )
                + b"\n"
            )
            loads(stdin.readline())
        return decision(payload, "complete", output={"steps": index + 1})
    if kind == "replay":
        for index, value in enumerate(data["values"]):
            dumps(
                {
                    "key": "step:%d" % index,
                    "callable": "program:step",
                    "input": {"index": index},
                }
            )
            copied(payload["local_steps"][index]["output"])
        return decision(payload, "complete", output={"steps": index + 1})
    if kind == "children":
        commands, until = [], []
        for index, value in enumerate(data["values"]):
            commands.append(
                {
                    "key": "child:%d" % index,
                    "program": {"id": "invoice-check", "version": "1.2.0"},
                    "queue": "billing",
                    "data": copied(value),
                    "retry_policy": {"max_attempts": 3, "retry_delay_ms": 5000},
                    "attempt_timeout_ms": 300000,
                }
            )
            until.append("child:%d" % index)
        return decision(
            payload,
            "suspend",
            continuation="collect",
            state={"batch": 7},
            commands=commands,
            until=until,
        )
    if kind == "resume":
        state, inputs = copied(payload["state"]), copied(payload["inputs"])
        first = copied(payload["inputs"]["child:0"]["outcome"]["output"])
        return decision(
            payload,
            "complete",
            output={
                "items": len(state["items"]),
                "children": len(inputs),
                "first": len(first["pad"]),
            },
        )
    raise ValueError(kind)


async def run_async(message):
    return run(message)


async def nothing():
    pass


stdin = open(0, "rb", buffering=262144, closefd=False)
while True:
    line = stdin.readline()
    if not line:
        break
    message = loads(line)
    if message["type"] == "shutdown":
        os.write(1, b'{"v":%d,"type":"closing"}\n' % version)
        continue
    result = {
        "v": version,
        "type": "result",
        "event_id": message["event_id"],
        "attempt_id": message["attempt_id"],
    }
    if kind == "fail":
        if version >= 3:
            in_loop(nothing())
        message = ('line "%d" could not be read \u2014 caf\u00e9\\path\n' * 40)[:1000]
        result["status"] = "error"
        result["error"] = {"kind": "business_error", "message": ""}
        room = int(arguments["--max-output-bytes"]) - len(dumps(result)) - 1
        text = message[:512]
        while len(dumps(text)) - 2 > room:
            text = text[: len(text) - 1 - (len(dumps(text)) - 2 - room) // 3]
        result["error"]["message"] = text
    else:
        output = in_loop(run_async(message)) if version >= 3 else run(message)
        result["status"] = "success"
        result["output"] = output
    send(dumps(result) + b"\n")
