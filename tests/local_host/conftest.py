"""Hosts whose runners use one of the two twins of the profile."""

import pytest

from tests.support.twins import NAMES


@pytest.fixture(scope="module", params=NAMES)
def twin(request):
    """Let the runners that start from now on use this twin."""
    with pytest.MonkeyPatch.context() as patch:
        forced = "1" if request.param == "pure" else "0"
        patch.setenv("LEDGENCE_PURE_PYTHON", forced)
        yield request.param
