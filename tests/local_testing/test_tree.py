"""What a report of a failure says about runs that are not over."""

import pytest

from ledgence.local import HostListener, LocalHost
from ledgence.local._engine import Unavailable
from ledgence.local._testing._tree import open_runs


@pytest.fixture
def host():
    """A host that serves a queue which nobody uses: nothing ever runs."""
    return LocalHost(queues=["nobody"], listener=HostListener())


def test_every_open_run_is_named_with_what_it_waits_for(host):
    with host as plain:
        plain.stub("mail", None)
        flow = plain.start_workflow("mail")
        task = plain.submit_task("mail")
        lines = open_runs(host).splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [
        f"workflow {flow.id} (mail): running",
        f"task {task.id}: queued",
    ]
    assert [line.split()[0] for line in lines if line.startswith(" ")] == ["queued"] * 2


def test_what_is_over_is_not_named(host):
    with host as plain:
        plain.stub("mail", None)
        plain.cancel(plain.submit_task("mail"))
        assert open_runs(host) == ""


@pytest.mark.parametrize(("tasks", "cut"), [(10, False), (11, True)])
def test_a_long_list_is_cut(host, tasks, cut):
    with host as plain:
        plain.stub("mail", None)
        for _ in range(tasks):
            plain.submit_task("mail")
        lines = open_runs(host).splitlines()
    assert len(lines) == 20 + cut
    assert (lines[-1] == "...") == cut


def test_a_host_that_is_closed_tells_nothing(host):
    assert open_runs(host) == ""
    with host:
        pass
    assert open_runs(host) == ""


def test_a_store_that_cannot_be_read_does_not_spoil_the_report(host, monkeypatch):
    def broken(request):
        raise Unavailable("the store cannot be read")

    with host:
        monkeypatch.setattr(host._core.opened.look, "list_workflows", broken)
        assert open_runs(host) == "the store cannot be read [unavailable]"


def test_a_host_that_has_stopped_says_why(host):
    with host:
        host._core._fail(RuntimeError("no more"))
        assert "no more" in open_runs(host)
