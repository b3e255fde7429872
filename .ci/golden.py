#!/usr/bin/env python3
"""Play all golden cases against a runner directory, on both twins or one.

usage: golden.py [--bundle DIR] [--python EXE] [--twin TWIN] [--jobs N]

DIR holds ``ledgence/worker`` (default: this checkout). The profile vectors run in
EXE itself; transcripts and workflow cases drive DIR's bootstrap under EXE. The last
line of each part is its own ``N passed, N failed``; the exit status is 0 only when
nothing failed.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "conformance"
TWINS = ("native", "pure")


def play(title: str, command: list[str], **settings: object) -> bool:
    """Run one part; return whether it passed."""
    print(f"-- {title}", flush=True)
    return subprocess.run(command, check=False, **settings).returncode == 0


def main(argv: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bundle", type=Path, default=ROOT)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--twin", choices=TWINS, action="append")
    # Most of a conversation's time is waiting.
    parser.add_argument("--jobs", default=str(2 * (os.cpu_count() or 1)))
    options = parser.parse_args(argv)
    bundle = options.bundle.resolve()
    bootstrap = str(bundle / "ledgence" / "worker" / "bootstrap.py")
    driver = [sys.executable]
    passed = []
    for twin in options.twin or TWINS:
        module = f"ledgence.worker._profile_{'c' if twin == 'native' else 'py'}"
        environment = dict(
            os.environ, LEDGENCE_PURE_PYTHON="1" if twin == "pure" else ""
        )
        target = ["--bootstrap", bootstrap, "--python", options.python]
        passed += [
            play(
                f"profile vectors, {twin}",
                [options.python, str(CASES / "check_profile.py"), module],
                cwd=bundle,
            ),
            play(
                f"transcripts, {twin}",
                [
                    *driver,
                    str(CASES / "run_transcripts.py"),
                    *target,
                    "--jobs",
                    options.jobs,
                ],
                env=environment,
            ),
            play(
                f"workflow cases, {twin}",
                [*driver, str(CASES / "run_workflow.py"), *target, "-j", options.jobs],
                env=environment,
            ),
        ]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
