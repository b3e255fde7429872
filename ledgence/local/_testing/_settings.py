"""How the host of a test works: defaults, ini option, command line, markers."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ledgence.local._host import LocalHost

__all__ = ["Settings", "settings_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a test wants its host.

    Attributes:
        options: Arguments of ``LocalHost``.
        replay: Whether to play what was recorded once more after the test.
        printing: Whether output goes to the terminal as it comes; else it is kept for
            the report.
    """

    options: dict[str, Any]
    replay: bool
    printing: bool


def settings_of(
    config: pytest.Config, node: pytest.Item, programs: Mapping[str, Any]
) -> Settings:
    """Return what applies to a test; markers come before options.

    Raises:
        pytest.UsageError: A marker names an option that no host has.
    """
    options = _marked(node)
    replay = _replay(config, options)
    in_process = bool(options.get("in_process"))
    if replay and not in_process:
        options.setdefault("fresh_processes", True)
    crash = config.getoption("--ledgence-crash")
    if crash is not None and not in_process:
        options.setdefault("crash", crash)
    options["programs"] = _absolute(
        {**programs, **options.get("programs", {})}, config.rootpath
    )
    return Settings(
        options=options,
        # What a test has changed in its own process a runner would not see.
        replay=replay and not in_process,
        printing=config.getoption("capture", "no") == "no",
    )


def _marked(node: pytest.Item) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for mark in reversed(list(node.iter_markers("ledgence"))):
        _check(mark)
        options.update(mark.kwargs)
    return options


def _check(mark: pytest.Mark) -> None:
    known = {"replay", *inspect.signature(LocalHost).parameters}
    if mark.args:
        raise pytest.UsageError("the marker ledgence takes named options only")
    unknown = sorted(mark.kwargs.keys() - known)
    if unknown:
        import difflib  # noqa: PLC0415 - only for a misspelt option

        near = difflib.get_close_matches(unknown[0], known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {sorted(known)}"
        raise pytest.UsageError(f"no host has the option {unknown[0]!r}; {hint}")


def _replay(config: pytest.Config, options: dict[str, Any]) -> bool:
    if "replay" in options:
        return bool(options.pop("replay"))
    if config.getoption("--ledgence-no-replay"):
        return False
    return bool(config.getini("ledgence_replay"))


def _absolute(programs: dict[str, Any], root: Path) -> dict[str, Any]:
    # A test run may begin in any directory.
    return {name: root / Path(source) for name, source in programs.items()}
