"""Commands run in this process: no start of an interpreter for each."""

import pytest

from ledgence.local._commands import cli
from tests.support.local_cli import Done


@pytest.fixture
def ledgence(capfd, tmp_path, monkeypatch):
    """Runs a command in an empty directory; returns exit code and both streams."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LEDGENCE_LOCAL_STORE", raising=False)

    def run(*args):
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main([str(one) for one in args], prog_name="ledgence-local")
        out, err = capfd.readouterr()
        return Done(stop.value.code or 0, out, err)

    return run
