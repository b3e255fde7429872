"""Fixtures over the real process."""

import itertools

import pytest

from tests.support.runner import Runner, write_program


@pytest.fixture
def artifact(tmp_path):
    """Lay out a program: ``artifact(text)`` or ``artifact({"name.py": text})``."""
    folder = tmp_path / "artifact"
    folder.mkdir()

    def lay_out(files):
        return write_program(
            folder, files if isinstance(files, dict) else {"program.py": files}
        )

    return lay_out


@pytest.fixture
def launch(tmp_path, artifact):
    """Start runners over a program; whatever still runs is killed after the test."""
    running = []
    numbers = itertools.count()

    def start(files, protocol=1, handler="program:handle", **options):
        folder = artifact(files)
        scratch = tmp_path / f"scratch-{next(numbers)}"
        runner = Runner(folder, protocol, handler, scratch=scratch, **options)
        running.append(runner)
        return runner

    yield start
    for runner in running:
        runner.kill()
