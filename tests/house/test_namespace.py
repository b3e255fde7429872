"""`ledgence` is shared with separately installed distributions."""

import subprocess
import sys


def test_the_released_client_imports_side_by_side():
    code = (
        "import ledgence.worker, ledgence.client, ledgence\n"
        "assert getattr(ledgence, '__file__', None) is None\n"
        "assert ledgence.client.__file__ != ledgence.worker.__file__\n"
        "print('both')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.returncode) == ("both\n", 0), done.stderr
