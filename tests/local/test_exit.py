import signal

import pytest

from ledgence.local._errors import (
    CommitRefused,
    DeadlineExceeded,
    InputError,
    ProcessGone,
    ProtocolFault,
    StartRefused,
    TargetError,
)
from ledgence.local._exit import ExitCode, exit_code_of, exit_code_of_signal


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        pytest.param(TargetError, 2, id="target"),
        pytest.param(InputError, 2, id="input"),
        pytest.param(StartRefused, 4, id="start"),
        pytest.param(ProtocolFault, 4, id="fault"),
        pytest.param(ProcessGone, 4, id="gone"),
        pytest.param(CommitRefused, 4, id="commit"),
        pytest.param(DeadlineExceeded, 5, id="deadline"),
    ],
)
def test_every_error_has_its_exit_code(kind, code):
    assert exit_code_of(kind("it went", code="c")) == code


def test_the_codes_are_a_contract():
    assert {code.name: code.value for code in ExitCode} == {
        "SUCCESS": 0,
        "PROGRAM_FAILURE": 1,
        "USAGE": 2,
        "INVALID_OUTPUT": 3,
        "RUNNER": 4,
        "TIMEOUT": 5,
        "WAITING": 6,
        "INTERRUPTED": 130,
        "BROKEN_PIPE": 141,
    }


@pytest.mark.parametrize(
    ("number", "code"),
    [(None, 130), (signal.SIGINT, 130), (signal.SIGTERM, 143)],
    ids=["asked", "ctrl-c", "terminated"],
)
def test_a_signal_has_the_code_that_shells_give_it(number, code):
    assert exit_code_of_signal(number) == code
