"""Processes under supervision, and a check that nothing of them stays."""

import sys

import pytest

from ledgence.local._cancel import CancelToken
from ledgence.local._launch import Launch
from ledgence.local._process import RunnerProcess
from tests.support.runners import write_runner
from tests.support.supervised import HERE, Heard, group_is_gone


@pytest.fixture
def token():
    token = CancelToken()
    yield token
    token.close()


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
def launch(tmp_path):
    def make(body, **changes):
        options = {
            "python": sys.executable,
            "bootstrap": str(write_runner(tmp_path, body)),
            "package_root": str(tmp_path),
            "handler": "program:handle",
            "python_version": HERE,
            "protocol": 3,
        }
        return Launch(**{**options, **changes})

    return make


@pytest.fixture
def runner(launch, heard, token):
    """Makes processes and checks at the end that nothing of them is left."""
    made = []

    def make(body, *, allowance=None, **changes):
        process = RunnerProcess(
            launch(body, **changes), heard, cancel=token, allowance=allowance
        )
        made.append(process)
        return process

    yield make
    for process in made:
        process.kill()
        assert process.pid is None or group_is_gone(process.pid)
