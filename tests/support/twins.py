"""The twins of the JSON profile that a test run has, and a fixture over them.

The compiled twin takes part where it can be imported. Where it is expected, which
``LEDGENCE_EXPECT_NATIVE=1`` says, its absence fails each test instead of passing
over it in silence.
"""

import importlib
import os

import pytest

from ledgence.worker import _profile, _profile_py


def _native():
    """The compiled twin, or why there is none that fits these sources."""
    try:
        twin = importlib.import_module("ledgence.worker._profile_c")
    except ImportError as error:
        return None, str(error)
    if twin.BUILD != _profile.BUILD:
        return None, f"stale: build {twin.BUILD}, these sources are {_profile.BUILD}"
    return twin, None


NATIVE, MISSING = _native()
EXPECT_NATIVE = os.environ.get("LEDGENCE_EXPECT_NATIVE", "") == "1"
NAMES = ["pure", "native"] if NATIVE is not None or EXPECT_NATIVE else ["pure"]


def twin(name):
    if name == "pure":
        return _profile_py
    if NATIVE is None:
        pytest.fail(f"the compiled twin is expected and missing: {MISSING}")
    return NATIVE


@pytest.fixture(params=NAMES)
def profile(request):
    """Each twin in turn."""
    return twin(request.param)


@pytest.fixture
def native():
    """The compiled twin; a test without it is skipped, or fails where expected."""
    if NATIVE is None and not EXPECT_NATIVE:
        pytest.skip(f"there is no compiled twin here: {MISSING}")
    return twin("native")
