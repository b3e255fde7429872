"""The golden vectors of the JSON profile, against each twin."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import ledgence.worker

CASES = Path(__file__).resolve().parents[1] / "conformance"
PARENT = Path(ledgence.worker.__file__).resolve().parents[2]


@pytest.mark.timeout(300)
def test_every_golden_vector_passes(profile):
    done = subprocess.run(
        [sys.executable, CASES / "check_profile.py", profile.__name__],
        cwd=PARENT,  # where a dotted name is looked up
        capture_output=True,
        text=True,
        timeout=290,
    )
    closing = done.stdout.strip().splitlines()[-1]
    assert re.fullmatch(r"[1-9]\d{3,} passed, 0 failed", closing), done.stdout[-4000:]
    assert done.returncode == 0
