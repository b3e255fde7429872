"""Where the runner's programs look, and how an exit is told."""

import subprocess
import sys
from pathlib import Path

from ledgence.local._launch import default_bootstrap


def test_nothing_but_the_helper_stands_beside_the_bootstrap():
    bootstrap = Path(default_bootstrap())
    assert bootstrap.is_file()
    namespace = bootstrap.parents[1]
    assert [one.name for one in namespace.iterdir()] == ["worker"]
    assert [one.name for one in namespace.parent.iterdir()] == ["ledgence"]


def test_the_directory_goes_with_the_process_that_made_it():
    code = (
        "import os, sys\n"
        "from ledgence.local._launch import default_bootstrap\n"
        "made = default_bootstrap()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    sys.exit(0)\n"
        "os.waitpid(child, 0)\n"
        "print(made, os.path.exists(made))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    made, there = done.stdout.split()
    assert there == "True", done.stderr
    assert not Path(made).parents[2].exists()
