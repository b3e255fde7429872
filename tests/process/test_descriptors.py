"""Standard input and output belong to nobody; the protocol's own are private."""

import json

import pytest

from tests.support.runner import event, invocation, line

READERS = {
    "sys.stdin.read": "sys.stdin.read()",
    "sys.stdin.buffer": "sys.stdin.buffer.read().decode()",
    "input": "read_a_line()",
    "os.read": "os.read(0, 100).decode()",
    "open": "open('/dev/stdin').read()",
    "a child's cat": "subprocess.run(['cat'], capture_output=True, text=True).stdout",
    "a child of os.system": "str(os.system('read line && exit 5') >> 8)",
}
READ = """
import os, subprocess, sys
def read_a_line():
    try:
        return input()
    except EOFError:
        return ""
def handle(event):
    return {reader}
"""


@pytest.mark.parametrize("protocol", [1, 3])
@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_whoever_reads_standard_input_meets_its_end(launch, protocol, reader):
    runner = launch(READ.format(reader=reader), protocol).ready()
    first, second = invocation(protocol, 1), invocation(protocol, 2, number=2)
    runner.send(first, second)  # the second frame is there to be stolen
    results = [runner.control(), runner.control()]
    assert [r["event_id"] for r in results] == ["evt-1", "evt-2"]
    assert results[0]["output"] in {"", "1"}
    assert results[1]["output"] == results[0]["output"]
    assert runner.finish() == ([], 0)


def test_standard_input_is_at_its_end_while_the_program_is_imported(launch):
    program = "import sys\nREAD = sys.stdin.read()\ndef handle(event): return READ"
    runner = launch(program)
    runner.send(invocation(1))
    assert runner.ready().control()["output"] == ""


WRITERS = {
    "print": "print({text!r})",
    "sys.stdout": "sys.stdout.write({text!r} + chr(10))",
    "sys.__stdout__": "print({text!r}, file=sys.__stdout__, flush=True)",
    "os.write": "os.write(1, {text!r}.encode() + b'\\n')",
    "a child": "subprocess.run(['echo', {text!r}])",
    "C": "os.system('echo ' + repr({text!r}))",
}


@pytest.mark.parametrize("protocol", [1, 2, 3])
@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
def test_whatever_is_written_to_standard_output_arrives_on_standard_error(
    launch, protocol, writer
):
    text = json.dumps({"v": protocol, "type": "closing"})
    program = f"""
import os, subprocess, sys
{writer.format(text=text)}
def handle(event):
    {writer.format(text=text)}
    return 1
"""
    runner = launch(program, protocol).ready()
    assert runner.output() == 1
    assert runner.finish() == ([], 0)
    assert runner.errors().count(text) == 2


def test_standard_output_is_standard_error(launch):
    program = """
    import sys
    def handle(event):
        return sys.stdout is sys.stderr
    """
    assert launch(program).ready().output() is True


DESCRIPTORS = """
import fcntl, os, subprocess, sys
CODE = '''
import os
found = []
for fd in range(3, 64):
    try:
        os.fstat(fd)
    except OSError:
        continue
    found.append(fd)
print(found)
'''
def private():
    found = []
    for fd in range(3, 64):
        try:
            flags = fcntl.fcntl(fd, fcntl.F_GETFD)
        except OSError:
            continue
        found.append(bool(flags & fcntl.FD_CLOEXEC))
    return found
def handle(event):
    done = subprocess.run([sys.executable, "-I", "-S", "-c", CODE], close_fds=False,
                          capture_output=True, text=True, check=True)
    return [private(), done.stdout.strip()]
"""


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_the_private_descriptors_are_not_inherited(launch, protocol):
    runner = launch(DESCRIPTORS, protocol, covered=False).ready()
    flags, of_child = runner.output()
    assert flags
    assert all(flags)
    assert of_child == "[]"


def test_large_output_of_the_program_does_not_disturb_the_frames(launch):
    program = """
    import os
    def handle(event):
        for _ in range(64):
            os.write(1, b"x" * 16384)
        return "done"
    """
    runner = launch(program, 2).ready()
    assert runner.output() == "done"
    assert len(runner.errors()) >= 1 << 20


def test_descriptors_do_not_pile_up(launch):
    program = """
    import asyncio, os
    async def handle(event):
        if event["data"] == "threads":
            await asyncio.to_thread(int)
        if event["data"] == "sockets":
            server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
            server.close()
        return len(os.listdir("/dev/fd"))
    """
    runner = launch(program, 3).ready()
    kinds = ["plain", "threads", "sockets"] * 4
    counts = [runner.output(kind, n) for n, kind in enumerate(kinds, 1)]
    assert counts[6:9] == counts[9:12], counts


def test_a_burst_of_frames_is_answered_in_order(launch):
    runner = launch("def handle(event): return event['data']").ready()
    runner.send(*(invocation(1, n, number=n) for n in range(1, 51)))
    assert [runner.control()["output"] for _ in range(50)] == list(range(1, 51))


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_a_frame_may_come_in_single_bytes(launch, protocol):
    runner = launch("def handle(event): return event['data']", protocol).ready()
    for byte in line(invocation(protocol, "é😀")):
        runner.send(bytes([byte]))
    assert runner.control()["output"] == "é😀"


def test_a_carriage_return_before_the_newline_is_white_space(launch):
    runner = launch("def handle(event): return event['data']").ready()
    runner.send(line(invocation(1, 5))[:-1] + b"\r\n")
    assert runner.control()["output"] == 5


LIMIT = 2_097_152
ECHO = "def handle(event): return event['data']"


def exactly(size, version=1):
    """An invoke frame of so many bytes."""
    bare = len(line(invocation(version, "")))
    return line(invocation(version, "x" * (size - bare)))


@pytest.mark.parametrize("protocol", [1, 3])
def test_a_frame_of_exactly_the_limit_is_answered(launch, protocol):
    runner = launch(ECHO, protocol).ready()
    frame = exactly(LIMIT, protocol)
    assert len(frame) == LIMIT
    runner.send(frame)
    result = runner.read_line()
    assert b'"status":"success"' in result
    assert runner.finish() == ([], 0)


@pytest.mark.parametrize("protocol", [1, 3])
def test_a_frame_of_one_byte_more_is_a_fault(launch, protocol):
    runner = launch(ECHO, protocol).ready()
    runner.send(exactly(LIMIT + 1, protocol))
    assert runner.finish() == ([], 70)
    assert f"longer than {LIMIT} bytes" in runner.errors()


def test_an_output_of_exactly_the_limit_is_a_success_and_one_more_is_not(launch):
    program = "def handle(event): return 'x' * event['data']"
    runner = launch(program).ready()
    bare = len(line({**runner.invoke(0), "output": ""}))
    runner.send(invocation(1, LIMIT - bare, number=1))
    assert len(runner.read_line()) == LIMIT
    result = runner.invoke(LIMIT - bare + 1, number=1)
    assert result["error"]["kind"] == "invalid_output"


@pytest.mark.parametrize("size", [600, 601])
def test_an_endless_line_is_refused_without_its_end(launch, size):
    runner = launch(ECHO, options=["--max-input-bytes", "600"]).ready()
    runner.send(exactly(600)[:-1] + b" " * (size - 599))
    if size == 601:
        assert runner.wait() == 70  # the input is still open
    else:
        runner.send(b"\n")
        assert runner.wait() == 70


HALVES = {
    "nothing of a line": b"",
    "a brace": b"{",
    "half": line(invocation(1))[:100],
    "all but the newline": line(invocation(1))[:-1],
    "a newline": b"\n",
}


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("text", HALVES.values(), ids=HALVES)
def test_the_input_may_end_anywhere(launch, text, before):
    runner = launch(ECHO).ready()
    for number in range(before):
        assert runner.output(7, number + 1) == 7
    runner.send(text)
    assert runner.finish() == ([], 70 if text else 0)


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_results_before_a_fault_are_delivered(launch, protocol):
    runner = launch(ECHO, protocol).ready()
    runner.send(invocation(protocol, 1), b"not a frame\n", invocation(protocol, 2))
    frames, status = runner.finish()
    assert [f["output"] for f in frames] == [1]
    assert status == 70
    assert "Traceback" in runner.errors()


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_a_parent_that_is_gone_ends_the_process_with_70(launch, protocol):
    runner = launch(ECHO, protocol).ready()
    runner.process.stdout.close()
    runner.send(invocation(protocol, 1))
    assert runner.wait() == 70


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_a_parent_that_stops_reading_gets_its_frame_whole_later(launch, protocol):
    program = "def handle(event): return 'y' * 1000000"
    runner = launch(program, protocol).ready()
    runner.send(invocation(protocol, 1), invocation(protocol, 2, number=2))
    with pytest.raises(Exception, match="timed out"):
        runner.wait(0.3)  # it waits for us, and does not spin or die
    assert [len(runner.control()["output"]) for _ in (1, 2)] == [1000000] * 2


def test_identities_of_a_frame_are_echoed_exactly(launch):
    name = 'é😀"\\\u2028\x7f'
    runner = launch(ECHO).ready()
    changed = event(1) | {"id": name, "ldgattemptid": name}
    result = runner.invoke(event=changed, event_id=name, attempt_id=name)
    assert (result["event_id"], result["attempt_id"]) == (name, name)
