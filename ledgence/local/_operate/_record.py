"""The commands that record something and then run on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from ledgence.local._engine import InvalidInput, NotFound, parse
from ledgence.local._errors import InputError
from ledgence.local._host._requests import SubmitOptions, cloud_event, submission
from ledgence.local._inputs import one_value
from ledgence.local._operate import _approvals
from ledgence.local._operate._call import call
from ledgence.local._operate._drive import Drive, run_on
from ledgence.local._operate._find import Found, find_task, find_workflow, near
from ledgence.local._operate._programs import choose, link_all, missing
from ledgence.local._operate._session import Place, Session
from ledgence.local._shapes import as_object

__all__ = [
    "cancel_task",
    "cancel_workflow",
    "decide_approval",
    "send_event",
    "start_workflow",
    "submit_file",
    "submit_task",
]

_FILE_BYTES = 2_097_152
_DEFAULT_ATTEMPTS = 3
_DEFAULT_DELAY_SECONDS = 5.0
Given = dict[str, Any]
T = TypeVar("T")


def _record(
    given: Given,
    prepare: Callable[[], T],
    work: Callable[[Session, T], int],
    *,
    create: bool = False,
) -> NoReturn:
    """Read what the caller gave, then call ``work`` with the store and that."""

    def opened() -> int:
        prepared = prepare()
        with Session(Place.of(given), create=create) as session:
            link_all(session.links, given["programs"])
            return work(session, prepared)

    call(opened, as_json=given["as_json"])


def start_workflow(text: str, given: Given) -> NoReturn:
    """Start a workflow."""

    def work(session: Session, data: object) -> int:
        request = _submission(session, text, data, given)
        reply = _submit(session, session.engine.submit_workflow, request)
        found = Found("workflow", reply["workflow_id"])
        return run_on(session, found, reply, Drive.of(given))

    _record(given, lambda: _data(given["data"]), work, create=True)


def submit_task(text: str, given: Given) -> NoReturn:
    """Submit a task."""

    def work(session: Session, data: object) -> int:
        return _submitted(session, _submission(session, text, data, given), given)

    _record(given, lambda: _data(given["data"]), work, create=True)


def submit_file(file: str, given: Given) -> NoReturn:
    """Submit what a file holds: a whole request; its scope counts."""

    def prepare() -> Given:
        request = _read_file(file)
        taken = as_object(request.get("input")) or {}
        for option, member in (("tenant", "tenant_id"), ("namespace", "namespace")):
            if isinstance(taken.get(member), str):
                given[option] = taken[member]
        return request

    def work(session: Session, request: Given) -> int:
        return _submitted(session, request, given)

    _record(given, prepare, work, create=True)


def _submitted(session: Session, request: Given, given: Given) -> int:
    reply = _submit(session, session.engine.submit_task, request)
    return run_on(session, Found("task", reply["task_id"]), reply, Drive.of(given))


def _submit(session: Session, how: Callable[[object], Given], request: Given) -> Given:
    try:
        return how(request)
    except NotFound as error:
        program = request["input"]["program"]
        text = f"{program['id']}@{program['version']}"
        raise missing(session.programs, session.links, text) from error


def _submission(session: Session, text: str, data: object, given: Given) -> Given:
    program = choose(session.programs, session.links, text)
    options: SubmitOptions = {"queue": given["queue"]}
    if given["correlation_key"] is not None:
        options["correlation_key"] = given["correlation_key"]
    attempts, delay = given["max_attempts"], given["retry_delay"]
    if attempts is not None or delay is not None:
        seconds = _DEFAULT_DELAY_SECONDS if delay is None else delay
        options["retry_policy"] = {
            "max_attempts": attempts or _DEFAULT_ATTEMPTS,
            "retry_delay_ms": round(seconds * 1000),
        }
    if given["attempt_timeout"] is not None:
        options["attempt_timeout_ms"] = round(given["attempt_timeout"] * 1000)
    request = submission(session.place.scope, program, data, options)
    if given["key"] is not None:  # an empty one is refused, not replaced
        request["idempotency_key"] = given["key"]
    return request


def send_event(text: str, key: str, given: Given) -> NoReturn:
    """Send an event to a workflow."""

    def work(session: Session, event: Given) -> int:
        workflow_id = find_workflow(session, text)
        request = session.about(workflow_id=workflow_id, key=key, event=event)
        awaited = _awaited_key(session, workflow_id)
        reply = session.engine.send_event(request)
        if awaited is not None and key != awaited and near(key, [awaited]):
            click.echo(
                f"ledgence-local: note: the workflow waits for {awaited!r}; {key!r} is"
                " kept until it asks for that",
                err=True,
            )
        return run_on(session, _root(session, workflow_id), reply, Drive.of(given))

    _record(given, lambda: _event(given), work)


def _awaited_key(session: Session, workflow_id: str) -> str | None:
    about = session.about(workflow_id=workflow_id)
    wait = session.look.workflow(about)["external_wait"]
    return wait["key"] if wait is not None and wait["kind"] == "event" else None


def _event(given: Given) -> Given:
    if given["file"] is not None:
        return _read_file(given["file"])
    return cloud_event(
        _data("null" if given["data"] is None else given["data"]),
        id_=given["id_"],
        type_=given["type_"],
        source=given["source"],
    )


def decide_approval(text: str, key: str, decision: str, given: Given) -> NoReturn:
    """Decide a request for approval."""

    def work(session: Session, _prepared: None) -> int:
        workflow_id = find_workflow(session, text)
        reply = _approvals.decide(
            session, session.engine, workflow_id, key, decision=decision, given=given
        )
        return run_on(session, _root(session, workflow_id), reply, Drive.of(given))

    _record(given, lambda: None, work)


def cancel_workflow(text: str, given: Given) -> NoReturn:
    """Cancel a workflow."""

    def work(session: Session, _prepared: None) -> int:
        workflow_id = find_workflow(session, text)
        reply = session.engine.cancel_workflow(session.about(workflow_id=workflow_id))
        session.engine.pump()
        found = Found("workflow", workflow_id)
        return run_on(session, found, reply, Drive.of(given, cancelling=True))

    _record(given, lambda: None, work)


def cancel_task(text: str, given: Given) -> NoReturn:
    """Cancel a task."""

    def work(session: Session, _prepared: None) -> int:
        task_id = find_task(session, text)
        reply = session.engine.cancel_task(session.about(task_id=task_id))
        found = Found("task", task_id)
        return run_on(session, found, reply, Drive.of(given, cancelling=True))

    _record(given, lambda: None, work)


def _root(session: Session, workflow_id: str) -> Found:
    """Return the workflow that owns all of the tree: it is run on as a whole."""
    status = session.look.workflow_status(session.about(workflow_id=workflow_id))
    return Found("workflow", status.get("root_workflow_id") or workflow_id)


def _data(text: str) -> object:
    (value,) = one_value(text).read(lambda _descriptor: None)
    return value.data


def _read_file(name: str) -> Given:
    """Read an object from a file, exactly as a request of the service is read."""
    try:
        with Path(name).open("rb") as file:
            data = file.read(_FILE_BYTES + 1)
    except OSError as error:
        raise InputError(
            f"{name} cannot be read: {error.strerror}", code="input_unreadable"
        ) from error
    found = as_object(parse(data)) if len(data) <= _FILE_BYTES else None
    if found is None:
        raise InvalidInput(f"{name} holds no JSON object of at most 2 MiB")
    return found
