"""The recorded conversations, against the bootstrap of the imported package.

The profile vectors are in tests/unit; here the real process is driven, on the
twin that this test run uses.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import PACKAGE

CASES = Path(__file__).resolve().parents[1] / "conformance"


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("runner", "jobs"),
    [("run_transcripts.py", "--jobs"), ("run_workflow.py", "-j")],
    ids=["transcripts", "workflow"],
)
def test_every_golden_case_passes(runner, jobs, tmp_path):
    # As on a worker nothing else is beside the helper; links are followed there.
    worker = tmp_path / "ledgence" / "worker"
    shutil.copytree(PACKAGE / "worker", worker)
    bootstrap = worker / "bootstrap.py"
    done = subprocess.run(
        [sys.executable, CASES / runner, "--bootstrap", bootstrap, jobs, "4"],
        capture_output=True,
        text=True,
        timeout=590,
        env=os.environ,
    )
    closing = done.stdout.strip().splitlines()[-1]
    assert re.fullmatch(r"[1-9]\d* passed, 0 failed", closing), done.stdout[-4000:]
    assert done.returncode == 0
