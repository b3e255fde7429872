"""The pytest plugin: a host for each test, and what it says when a test fails.

It is found by its entry point and does nothing until a fixture asks for it: it imports
nothing beyond pytest before that.

Fixtures:
    ledgence_host: a ``PlainHost``, open while the test runs.
    ledgence_async_host: a ``LocalHost`` whose methods are coroutines, for any plugin
        that runs async tests on asyncio.
    ledgence_programs: programs for both, by name; override it. Paths are relative to
        the root of the test run.

Marker:
    ``ledgence(...)``: arguments of ``LocalHost`` for the host of a test; ``replay``.

What is replayed: by default every attempt gets a fresh process, and after a test that
has passed each activation of its workflows is played once more, with the recorded
journal; where the program would then run another step or fork, the test fails with
``not_repeatable``. ``replay=False``, ``--ledgence-no-replay`` and the ini option
``ledgence_replay = false`` switch both off.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from ledgence.local._host import LocalHost, PlainHost
    from ledgence.local._testing import TestHost

__all__ = ["ledgence_async_host", "ledgence_host", "ledgence_programs"]

_HOST: pytest.StashKey[TestHost] = pytest.StashKey()


def _frame_number(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("ledgence", "Ledgence programs")
    group.addoption(
        "--ledgence-no-replay",
        action="store_true",
        help="keep processes between activations, and do not play what was recorded"
        " once more",
    )
    group.addoption(
        "--ledgence-crash",
        metavar="N",
        type=_frame_number,
        help="kill a program's process at its N-th frame, once in each test",
    )
    parser.addini(
        "ledgence_replay",
        "whether hosts of tests replay everything (default: true)",
        type="bool",
        default=True,
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        "ledgence(**options): how the Ledgence host of this test works; the arguments"
        " of ledgence.local.LocalHost, and replay",
    )


@pytest.fixture
def ledgence_programs() -> dict[str, Any]:
    """Programs on disk by name; override it with your own."""
    return {}


@pytest.fixture
def ledgence_host(
    request: pytest.FixtureRequest, ledgence_programs: dict[str, Any]
) -> Generator[PlainHost]:
    """A host for one test, whose methods are plain calls."""
    test_host = _new_host(request, ledgence_programs)
    with test_host.host as host:
        yield host


@pytest.fixture
def ledgence_async_host(
    request: pytest.FixtureRequest, ledgence_programs: dict[str, Any]
) -> Generator[LocalHost]:
    """A host for one test, whose methods are coroutines.

    Opened and closed outside the event loop of the test, so it does not matter which
    plugin runs that loop.
    """
    test_host = _new_host(request, ledgence_programs)
    with test_host.host:
        yield test_host.host


def _new_host(request: pytest.FixtureRequest, programs: dict[str, Any]) -> TestHost:
    from ledgence.local._testing import TestHost, settings_of  # noqa: PLC0415 - only for tests with a host

    item = _item(request)
    test_host = TestHost(settings_of(request.config, item, programs))
    item.stash[_HOST] = test_host
    return test_host


def _item(request: pytest.FixtureRequest) -> pytest.Item:
    # pytest does not say what a node is; of a function's fixture it is the item.
    return cast("pytest.Item", request.node)  # pyright: ignore[reportUnknownMemberType] # as above


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Play what a test has recorded once more, while its surroundings still stand."""
    yield
    test_host = item.stash.get(_HOST, None)
    trouble = None if test_host is None else test_host.trouble_with_replays()
    if trouble is not None:
        pytest.fail(trouble, pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the host knows to the report of a test that failed."""
    report = yield
    test_host = item.stash.get(_HOST, None)
    if test_host is not None and report.failed:
        report.sections += test_host.sections()
    return report
