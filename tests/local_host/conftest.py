"""What the tests of hosts share."""

import pytest

from ledgence.local import LocalHost
from tests.support.runner import PATIENCE
from tests.support.twins import NAMES


@pytest.fixture(autouse=True, scope="session")
def patient_hosts():
    """A busy machine needs more time; where a test succeeds, nobody waits for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(LocalHost.__init__.__kwdefaults__, "wait_seconds", 3 * PATIENCE)
        yield


@pytest.fixture(scope="module", params=NAMES)
def twin(request):
    """Let the runners that start from now on use this twin."""
    with pytest.MonkeyPatch.context() as patch:
        forced = "1" if request.param == "pure" else "0"
        patch.setenv("LEDGENCE_PURE_PYTHON", forced)
        yield request.param
