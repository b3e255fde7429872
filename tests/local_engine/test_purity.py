"""The engine does no I/O, and the arrows between its rooms go one way."""

import ast

import pytest

from tests.support.places import PACKAGE

LOCAL = PACKAGE / "local"
ENGINE = sorted((LOCAL / "_engine").glob("*.py"))
STORE = sorted((LOCAL / "_store").glob("*.py"))

# What a transition may use of the standard library; none of it touches the world.
PURE = {
    "__future__",
    "base64",
    "collections",
    "contextlib",
    "dataclasses",
    "functools",
    "hashlib",
    "json",
    "typing",
}
# The real clock and the real identifiers, each in its own room.
EXCEPTIONS = {"_clock.py": {"time"}, "_engine.py": {"uuid"}}


def imports(path):
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
    return found


@pytest.mark.parametrize("path", ENGINE, ids=lambda path: path.name)
def test_the_engine_touches_nothing_outside(path):
    allowed = PURE | EXCEPTIONS.get(path.name, set())
    for name in imports(path):
        top = name.partition(".")[0]
        if top == "ledgence":
            assert name.startswith(
                (
                    "ledgence.local._engine",
                    "ledgence.local._errors",
                    "ledgence.local._events",
                    "ledgence.worker",
                )
            ), name
        else:
            assert top in allowed, name


@pytest.mark.parametrize("path", ENGINE, ids=lambda path: path.name)
def test_the_engine_does_not_know_its_store(path):
    assert not [name for name in imports(path) if "_store" in name or "sqlite" in name]


@pytest.mark.parametrize("path", [*ENGINE, *STORE], ids=lambda path: path.name)
def test_files_keep_to_their_size(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
