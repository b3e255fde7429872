"""Run the webhook program over its deliveries and check what came of it.

Shows results and logs as they come. Exits 0 exactly when the one delivery that is
malformed on purpose failed and all others succeeded.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MALFORMED_LINE = 10
PROGRAM_FAILURE = 1


def main() -> int:
    """Run ``ledgence-local`` and return this script's exit status."""
    command = [sys.executable, "-m", "ledgence.local", "run"]
    command += [str(HERE / "program.py") + ":handle", "--protocol", "2"]
    command += ["--events", str(HERE / "deliveries.jsonl"), *sys.argv[1:]]
    results = []
    # The parent directory of `examples` holds `ledgence` in a source checkout.
    with subprocess.Popen(
        command, cwd=HERE.parent.parent, stdout=subprocess.PIPE
    ) as process:
        for line in process.stdout or ():
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
            results.append(json.loads(line))
    problems = check(results, process.returncode)
    good = f"as intended, {len(results) - 1} deliveries succeeded, the malformed failed"
    for text in problems or [good]:
        sys.stderr.write(f"demo: {text}\n")
    return 1 if problems else 0


def check(results: list[dict[str, object]], status: int) -> list[str]:
    """Say what differs from the intended outcome."""
    lines = (HERE / "deliveries.jsonl").read_text(encoding="utf-8").splitlines()
    failed = [one["line"] for one in results if one["status"] != "success"]
    problems = []
    if len(results) != len(lines):
        problems.append(f"{len(results)} results for {len(lines)} deliveries")
    if failed != [MALFORMED_LINE]:
        problems.append(f"failed lines are {failed}, expected [{MALFORMED_LINE}]")
    if status != PROGRAM_FAILURE:
        problems.append(f"exit code is {status}, expected {PROGRAM_FAILURE}")
    return problems


if __name__ == "__main__":
    sys.exit(main())
