"""The smaller parts of a host, each by itself."""

import sys

import pytest

from ledgence.local import LocalHost, Origin, PrintingListener, Run, WaitExpired
from ledgence.local._capture import Allowance
from ledgence.local._engine import InvalidInput, Program, Unavailable
from ledgence.local._host import HostListener, _linked
from ledgence.local._host._catalogue import Catalogue
from ledgence.local._host._hopeless import advice
from ledgence.local._host._linked import fingerprint
from ledgence.local._host._output import Output
from ledgence.local._host._runs import Awaited
from ledgence.local._host._time import HostTime
from ledgence.local._logs import Log
from ledgence.local._packages import build_package
from ledgence.local._target import find_target
from tests.support.local_host import Heard, write
from tests.support.programs import write_manifest
from tests.support.runner import await_true

ORIGIN = Origin("wf_12345678-9", "task_1", "att_1", 2, "orders")


def log(message, attributes):
    return Log(
        time="2026-01-01T00:00:00Z",
        severity="INFO",
        logger="orders",
        message=message,
        attributes=attributes,
        invocation=None,
        trace=None,
        size=10,
    )


def test_what_is_printed_is_marked_with_run_and_attempt(capsys):
    listener = PrintingListener()
    listener.output(ORIGIN, "a line")
    listener.log(ORIGIN, log("two\nlines", {"n": 1}))
    listener.log(ORIGIN, log("plain", {}))
    listener.note("of the host")
    mark = "[orders wf_12345678 attempt 2]"
    assert capsys.readouterr().err.splitlines() == [
        f"{mark} a line",
        f"{mark} INFO orders: two",
        f'{mark} lines  {{"n":1}}',
        f"{mark} INFO orders: plain",
        "ledgence-local: of the host",
    ]


def test_printing_fails_in_silence(monkeypatch):
    class Closed:
        def write(self, text):
            raise ValueError("I/O operation on closed file")

    monkeypatch.setattr(sys, "stderr", Closed())
    PrintingListener().note("nobody hears it")


def test_a_listener_may_leave_everything_out():
    listener = HostListener()
    listener.output(ORIGIN, "")
    listener.log(ORIGIN, log("", {}))
    listener.frame(ORIGIN, ">", b"")
    listener.note("")


def test_output_before_any_attempt_is_kept_for_the_failure_alone():
    heard = Heard()
    output = Output(heard, "/runner", lambda *frame: None)
    output.stderr(b"early\npartial \xe2\x82")
    output.frame(">", b"{}\n")
    output.log(log("early", {}))
    assert output.tail == "early\npartial \N{REPLACEMENT CHARACTER}"
    output.stderr(b"x" * 8_193)  # a line without an end is passed on in parts
    output.begin(ORIGIN)
    assert (heard.outputs, heard.frames, heard.logs) == ([], [], [])
    assert output.tail == ""
    allowance = Allowance()
    allowance.dropped_logs = 3
    output.end(allowance)
    assert heard.outputs == [(ORIGIN, "... 3 log records dropped")]
    assert allowance.dropped_logs == 0


@pytest.mark.parametrize(
    ("message", "hopeless"),
    [
        ("binding_changed: the key was used", True),
        ("attempt 3: runtime: binding_changed: the key", True),
        ("unknown_entrypoint: unknown", True),
        ("attempt 1: runtime: too_large: too large", True),
        ("attempt 1: runtime: connection refused", False),
        ("the word binding_changed: in the middle", False),
        ("", False),
    ],
)
def test_only_known_codes_are_beyond_a_retry(message, hopeless):
    found = advice(message)
    assert (found is not None) == hopeless
    assert not hopeless or found.startswith("a retry does not help")


def test_an_expired_wait_lists_at_most_so_many_things():
    things = [
        Awaited("wf_1", "event", f"k{n}", None, None, f"send {n}") for n in range(20)
    ]
    error = WaitExpired(Run("wf_1", "workflow", "p"), 0.5, things)
    assert len(error.awaited) == 20
    assert error.details["more"] == 8
    assert "after 0.5 s" in str(error)
    assert "nothing is known" in str(WaitExpired(Run("task_1", "task"), 1, []))


def test_children_are_listed_over_pages_up_to_a_bound(tmp_path):
    program = """
    from ledgence.worker.workflow import workflow_context

    def handle(event):
        ctx = workflow_context()
        n = ctx.state or 0
        tasks = [
            ctx.task(f"{n}-{k:02}", program="later", version="1", queue="no", data=None)
            for k in range(60)
        ]
        if n < 1:
            return ctx.continue_(continuation="more", state=n + 1)
        return ctx.suspend(continuation="end", state=n, until=tasks)
    """
    with LocalHost(
        programs={"p": write(tmp_path, "p", program)},
        listener=Heard(),
        queues=["default"],
    ) as host:
        host.stub("later", None)
        run = host.start_workflow("p")
        await_true(lambda: host.status(run)["state"] == "waiting")
        awaited = host.awaited(run)
        assert {(one.kind, one.detail) for one in awaited} == {("queued", "queue no")}
        assert len(awaited) == 64  # of 120; no list is longer
        assert awaited[63].key == "1-03"


def test_a_lost_attempt_is_named_where_its_retry_is_awaited(tmp_path):
    path = tmp_path / "store"
    with LocalHost(path, listener=Heard(), queues=["none"]) as host:
        host.stub("p", 1)
        run = host.submit_task("p")
        host._core.opened.engine.claim()
    with LocalHost(path, listener=Heard()) as host:
        (one,) = host.awaited(run)
        assert (one.kind, one.detail) == ("retry", "attempt 1 was lost")
        assert one.release == "advance(5000)"


def test_a_program_published_in_several_versions_must_be_named_with_one(tmp_path):
    with LocalHost(tmp_path / "store", listener=Heard()) as host:
        for version in ("1", "2"):
            directory = tmp_path / version
            directory.mkdir()
            write_manifest(directory, program={"id": "p", "version": version})
            (directory / "program.py").write_text(
                f"def handle(event): return {version}\n"
            )
            host._core.catalogue.packages.publish(build_package(directory))
        with pytest.raises(InvalidInput) as caught:
            host.run_task("p")
        assert caught.value.details["versions"] == "1, 2"
        assert host.run_task("p", version="2") == 2


def test_a_program_that_cannot_be_read_is_unavailable(tmp_path, monkeypatch):
    target = write(tmp_path, "p", "handle = print\n")
    catalogue = Catalogue()
    catalogue.link("p", target)
    (tmp_path / "p" / "program.py").unlink()
    (tmp_path / "p").rmdir()
    with pytest.raises(Unavailable, match="cannot be read"):
        catalogue.resolve(Program("p", "1"))


def test_beside_a_file_its_modules_and_packages_count(tmp_path, monkeypatch):
    target = find_target(write(tmp_path, "p", "handle = print\n"))
    directory = tmp_path / "p"

    def digest():
        return fingerprint(target).digest

    first = digest()
    (directory / "data.txt").write_text("does not count")
    (directory / "folder").mkdir()
    (directory / "folder" / "module.py").write_text("does not count")
    assert digest() == first
    (directory / "package").mkdir()
    (directory / "package" / "__init__.py").write_text("counts = 1")
    second = digest()
    assert second != first
    (directory / "package" / "module.py").write_text("counts = 1")
    third = digest()
    assert third != second
    # Where there are more files than a program has, the handler's own is what counts.
    monkeypatch.setattr(_linked, "_MOST_FILES", 2)
    only = digest()
    (directory / "package" / "module.py").write_text("counts = 2")
    assert digest() == only
    (directory / "program.py").write_text("handle = repr\n")
    assert digest() != only


def test_of_a_directory_all_that_would_be_packaged_counts(tmp_path):
    write(tmp_path, "p", "handle = print\n")
    write_manifest(tmp_path / "p")
    target = find_target(str(tmp_path / "p"))
    first = fingerprint(target)
    (tmp_path / "p" / ".hidden").write_text("x")
    assert fingerprint(target, first) is first
    (tmp_path / "p" / "data.txt").write_text("x")
    assert fingerprint(target, first).digest != first.digest


def test_a_standing_clock_goes_on_where_it_stood(monkeypatch):
    machine = [1_000]
    monkeypatch.setattr("ledgence.local._host._time._machine_ms", lambda: machine[0])
    clock = HostTime("real")
    clock.advance(50)
    with clock.standing():
        machine[0] += 700
        with clock.standing():
            assert clock.now_ms() == 1_050
        machine[0] += 7
        assert clock.now_ms() == 1_050
        clock.advance(1)
    assert clock.now_ms() == 1_051
    machine[0] += 10
    assert clock.now_ms() == 1_061
    skipping = HostTime("skip")
    with skipping.standing():
        machine[0] += 10
    assert skipping.now_ms() == 1_717


def test_an_error_whose_text_fails_has_its_name():
    class Mute(Exception):
        def __str__(self):
            raise ValueError

    with LocalHost(listener=Heard()) as host:
        host.stub("p", Mute())
        outcome = host.result(host.submit_task("p"))
        assert outcome.error["message"] == "Mute, whose own text failed"
