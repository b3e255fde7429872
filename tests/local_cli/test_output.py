"""What becomes of answers that cannot be written, or not in the locale's encoding."""

import subprocess
from pathlib import Path

import pytest

from tests.support.local_cli import PATIENCE, argv, cli, environment

FULL = Path("/dev/full")
FIRST = ("run", "echo.py:handle", "--data", '"🚲"')


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory with a program, and a store with one task that is over."""
    place = tmp_path_factory.mktemp("output")
    (place / "echo.py").write_text("def handle(event):\n    return event['data']\n")
    done = cli("task", "submit", "echo.py:handle", "--data", '"🚲"', cwd=place)
    assert done.code == 0, done.err
    return place


def written_to(output, place, *args, **changes):
    with Path(output).open("wb") as stream:
        return subprocess.run(
            argv(*args),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.PIPE,
            text=True,
            cwd=place,
            env=environment(**changes),
            timeout=PATIENCE,
        )


@pytest.mark.skipif(not FULL.exists(), reason="only some systems have it")
@pytest.mark.parametrize(
    "args",
    [FIRST, ("task", "list"), ("task", "list", "--json"), ("--help",)],
    ids=["run", "table", "json", "help"],
)
def test_output_that_cannot_be_written_is_one_sentence(place, args):
    done = written_to(FULL, place, *args)
    assert done.returncode == 141
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr


@pytest.mark.parametrize("args", [("task", "list"), ("--help",)], ids=["list", "help"])
def test_a_reader_that_went_away_is_no_failure_of_a_program(place, args):
    process = subprocess.Popen(
        argv(*args),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=place,
        env=environment(),
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(PATIENCE) == 141


@pytest.mark.parametrize(
    "args",
    [FIRST, ("task", "result", "last", "--json"), ("task", "result", "last")],
    ids=["run", "json", "facts"],
)
def test_values_are_utf8_whatever_the_locale(place, args):
    done = cli(*args, cwd=place, env=environment(PYTHONIOENCODING="latin-1"))
    assert done.code == 0, done.err
    assert "🚲" in done.out
