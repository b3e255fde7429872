#!/usr/bin/env python3
"""Test the compiled twin built in other ways: warnings as errors, sanitizers.

usage: sanitize.py [--kind KIND ...] [--fuzz N] [-- PYTEST ARGUMENT ...]

Each kind is built from a copy of the sources in a temporary directory, so that the
checkout keeps the binary it has. ``debug`` turns every warning of -Wall -Wextra into
an error and C assertions on; ``scalar`` does without vector instructions, as on other
architectures; ``sanitize`` runs under AddressSanitizer and UBSan. Each runs the golden
vectors, the tests of the profile and of the leaks (fewer rounds) and a stretch of
seeded cases, twin against twin. The exit status is 0 when all of it passed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("ledgence", "native", "tests", "pyproject.toml", "setup.py", "README.md")
SUITES = ("tests/unit", "tests/differential", "tests/leaks")
KINDS = ("debug", "scalar", "sanitize")


def copy_sources(target: Path) -> None:
    """Copy what a build and the tests need, without binaries and caches."""
    ignore = shutil.ignore_patterns("*.so", "__pycache__", "*.c", "*.pyc")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=ignore)
        elif source.exists():
            shutil.copy2(source, target / name)


def environment(kind: str) -> dict[str, str]:
    """The environment in which the build of a kind can be loaded."""
    found = dict(
        os.environ,
        LEDGENCE_EXPECT_NATIVE="1",
        LEDGENCE_PURE_PYTHON="",
        LEDGENCE_LEAK_ROUNDS="200",
    )
    if kind == "sanitize":
        compiler = os.environ.get("CC", "gcc")
        library = subprocess.run(
            [compiler, "-print-file-name=libasan.so"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        found |= {
            "LD_PRELOAD": library,
            # The interpreter's own allocator would hide every overrun.
            "PYTHONMALLOC": "malloc",
            # The interpreter does not free everything at its end.
            "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",
            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        }
    return found


def step(title: str, command: list[str], folder: Path, env: dict[str, str]) -> bool:
    """Run one command; say how it went."""
    print(f"-- {title}", flush=True)
    started = time.perf_counter()
    done = subprocess.run(command, check=False, cwd=folder, env=env)
    seconds = time.perf_counter() - started
    print(f"   exit status {done.returncode} after {seconds:.0f} s", flush=True)
    return done.returncode == 0


def run(kind: str, fuzz: int, arguments: list[str]) -> bool:
    """Build one kind and run everything on it; return whether all passed."""
    with tempfile.TemporaryDirectory(prefix=f"ledgence-{kind}-") as name:
        folder = Path(name)
        copy_sources(folder)
        build = dict(os.environ, LEDGENCE_BUILD_NATIVE="1", LEDGENCE_BUILD_KIND=kind)
        python, env = sys.executable, environment(kind)
        steps = (
            (
                "build",
                [python, "setup.py", "--quiet", "build_ext", "--inplace"],
                build,
            ),
            (
                "golden vectors",
                [
                    python,
                    "tests/conformance/check_profile.py",
                    "ledgence.worker._profile_c",
                ],
                env,
            ),
            (
                "tests",
                [
                    *(python, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
                    *("-o", "timeout=900", "-o", "faulthandler_timeout=880"),
                    *("-n", "2"),
                    *arguments,
                ],
                env,
            ),
            (
                "twin against twin",
                [
                    python,
                    "tests/fuzz/fuzz_twins.py",
                    *("--cases", str(fuzz), "--seed", "1"),
                ],
                env,
            ),
        )
        return all(
            step(f"{kind}: {title}", args, folder, e) for title, args, e in steps
        )


def main(argv: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--fuzz", type=int, default=20_000)
    parser.add_argument("pytest", nargs="*", default=None)
    options = parser.parse_args(argv)
    suites = [name for name in SUITES if (ROOT / name).is_dir()]
    passed = [
        run(kind, options.fuzz, options.pytest or suites)
        for kind in options.kind or KINDS
    ]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
