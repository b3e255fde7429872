"""How a run ended, as its caller sees it."""

from __future__ import annotations

from typing import Any

from ledgence.local._engine import Inspection, Scope
from ledgence.local._host._catalogue import Catalogue
from ledgence.local._host._hopeless import advice
from ledgence.local._host._runs import Outcome, Run

__all__ = ["outcome_of"]


def outcome_of(
    look: Inspection, scope: Scope, run: Run, catalogue: Catalogue
) -> Outcome | None:
    """Return the outcome of a run, None until it is over.

    Raises:
        NotFound: There is no such run in this scope.
    """
    if run.kind == "task":
        return _task(look, scope, run, catalogue)
    return _workflow(look, scope, run, catalogue)


def _task(
    look: Inspection, scope: Scope, run: Run, catalogue: Catalogue
) -> Outcome | None:
    found = look.task_result(run.request(scope.to_json()))
    outcome: dict[str, Any] | None = found["outcome"]
    if outcome is None:
        return None
    error = _task_error(outcome)
    return Outcome(
        run=run,
        state=found["task"]["state"],
        output=outcome.get("output"),
        error=error,
        attempts=found["task"]["attempt_count"],
        detail=outcome,
        hint=_hint(error, catalogue),
    )


def _task_error(outcome: dict[str, Any]) -> dict[str, Any] | None:
    failure = outcome.get("failure")
    if failure is None:
        return None
    if failure["kind"] == "attempt_lost":
        return {"kind": "attempt_lost", "message": "the attempt was lost"}
    error: dict[str, Any] = {**failure["error"]}
    if failure["kind"] == "execution":
        error["phase"] = failure["phase"]
    return error


def _workflow(
    look: Inspection, scope: Scope, run: Run, catalogue: Catalogue
) -> Outcome | None:
    found = look.workflow_result(run.request(scope.to_json()))
    outcome: dict[str, Any] | None = found["outcome"]
    if outcome is None:
        return None
    after = max(0, found["workflow"]["revision"] - 2)
    more = {"after_revision": after} if after else {}
    last = look.activations(run.request(scope.to_json(), **more))["items"][-1:]
    return Outcome(
        run=run,
        state=found["workflow"]["state"],
        output=outcome.get("output"),
        error=outcome.get("error"),
        attempts=last[0]["attempt_count"] if last else 0,
        detail=outcome,
        hint=_hint(outcome.get("error"), catalogue),
    )


def _hint(error: dict[str, Any] | None, catalogue: Catalogue) -> str | None:
    if error is None:
        return None
    message = str(error.get("message"))
    for name, missing in list(catalogue.missing.items()):
        if name in message and error.get("kind") == "decision_invalid":
            return missing.hint
    return advice(message)
