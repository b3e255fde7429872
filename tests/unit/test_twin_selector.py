"""Which twin fresh interpreters get, as a runner starts them too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ledgence.worker

PARENT = Path(ledgence.worker.__file__).resolve().parents[2]
REPORT = "from ledgence.worker import _profile; print(_profile.IMPLEMENTATION, end='')"


def selected(before="", *, flags=(), forced=None):
    """What a new interpreter with these flags and this environment selects."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name != "LEDGENCE_PURE_PYTHON"
    }
    if forced is not None:
        environment["LEDGENCE_PURE_PYTHON"] = forced
    program = f"import sys; sys.path.insert(0, {str(PARENT)!r})\n{before}\n{REPORT}"
    done = subprocess.run(
        [sys.executable, *flags, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
    )
    assert done.stderr == "", done.stderr
    return done.stdout


@pytest.mark.parametrize("flags", [(), ("-I", "-S", "-B")], ids=["plain", "isolated"])
def test_the_compiled_twin_runs_where_it_fits(native, flags):
    assert selected(flags=flags) == "native"


@pytest.mark.parametrize("flags", [(), ("-I", "-S", "-B")], ids=["plain", "isolated"])
@pytest.mark.parametrize("value", ["1", "yes", "false", "00", " "])
def test_any_other_value_of_the_variable_forces_the_pure_twin(value, flags):
    assert selected(flags=flags, forced=value) == "pure"


@pytest.mark.parametrize("value", ["", "0"])
def test_an_empty_value_or_zero_forces_nothing(native, value):
    assert selected(forced=value) == "native"


def test_a_missing_binary_is_passed_over_in_silence():
    missing = "sys.modules['ledgence.worker._profile_c'] = None"
    assert selected(missing) == "pure"
