"""A recorded activation as the invocation that is played."""

from __future__ import annotations

from ledgence.local._conversation import Invocation
from ledgence.local._engine._values import JsonObject
from ledgence.local._replay._format import refusal
from ledgence.local._replay._shape import Place
from ledgence.worker._exceptions import ActivationError
from ledgence.worker._profile_path import spell
from ledgence.worker.workflow._activation import check_identity, open_extension
from ledgence.worker.workflow._limits import SCHEMA

__all__ = ["invocation_of"]


def invocation_of(activation: JsonObject, place: Place) -> Invocation:
    """Return what a runner is sent to play an activation.

    A runner would refuse a damaged context as well, but that would look like a
    difference of the code; so it is looked at here.

    Args:
        activation: It has a decision.
        place: Where it stands in the history, for the error.

    Raises:
        HistoryError: ``history_format``: no runner can have had such an activation.
    """
    event = activation["event"]
    if event is None:
        raise refusal(spell((*place, "event")), "an object", "None")
    extension = _extension(activation)
    try:
        check_identity(open_extension(extension), event)
    except ActivationError as error:
        path = _path(place, error)
        raise refusal(path, "what a runner was sent", error.detail) from error
    return Invocation(event, extension)


def _extension(activation: JsonObject) -> JsonObject:
    """Return the extension with the whole journal: no recorded function is called."""
    records = [
        request["payload"]
        for request in activation["requests"]
        if request["operation"] == "local_step.commit"
    ]
    records.sort(key=lambda record: record["key"].encode())
    return {
        "schema": SCHEMA,
        "payload": {**activation["context"], "local_steps": records},
    }


def _path(place: Place, error: ActivationError) -> str:
    """Say where in the history a part of the extension comes from."""
    if error.code == "identity_mismatch":
        return spell((*place, "event"))
    inside = error.path or "$"
    if inside.startswith("$.local_steps"):
        return spell((*place, "requests"))
    return spell((*place, "context")) + inside.removeprefix("$")
