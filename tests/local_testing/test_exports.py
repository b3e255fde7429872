"""The public names of the package, and that they cost nothing until they are used."""

import subprocess
import sys

import pytest

import ledgence.local

HEAVY = (
    "sqlite3",
    "asyncio",
    "subprocess",
    "ledgence.worker",
    "ledgence.local._engine",
)


def test_every_public_name_is_there():
    names = ledgence.local.__all__
    assert names == sorted(names)
    assert set(names) == set(ledgence.local._ROOMS)
    for name in names:
        assert getattr(ledgence.local, name) is not None
    assert set(names) <= set(dir(ledgence.local))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Histroy'"):
        ledgence.local.Histroy  # noqa: B018 - the access is the test


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, ledgence.local; print([m for m in {!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code.format(HEAVY)],
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout.strip() == "[]"
