#!/usr/bin/env python3
"""Test the compiled twin built in other ways: warnings as errors, sanitizers.

usage: sanitize.py [--kind KIND ...] [--fuzz N] [-- PYTEST ARGUMENT ...]

Each kind is built from a copy of the sources in a temporary directory, so that the
checkout keeps the binary it has. ``debug`` turns every warning of -Wall -Wextra into
an error and C assertions on; ``scalar`` does without vector instructions, as on other
architectures; ``sanitize`` runs under AddressSanitizer and UBSan. Each runs the golden
vectors, tests and a stretch of seeded cases, twin against twin: ``sanitize`` all tests
of the profile and of the leaks (fewer rounds), the others those of the compiled twin.
The exit status is 0 when all of it passed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("ledgence", "native", "tests", "pyproject.toml", "setup.py", "README.md")
SUITES = {
    "debug": ("tests/unit", "-k", "native"),
    "scalar": ("tests/unit", "-k", "native"),
    # What concerns the pure twin alone learns nothing here, and without the
    # interpreter's own allocator its blocks are not counted.
    "sanitize": (
        *("tests/unit", "tests/differential", "tests/leaks"),
        *("-k", "not pure and not the_measure_sees"),
    ),
}


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
        LEDGENCE_DIFFERENTIAL_SEEDS="2000",
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


def build(kind: str, folder: Path) -> bool:
    """Build a wheel of this kind and put its binary beside the copied sources."""
    command = [
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"),
        *("--disable-pip-version-check", "--wheel-dir", "wheel", "."),
    ]
    env = dict(os.environ, LEDGENCE_BUILD_NATIVE="1", LEDGENCE_BUILD_KIND=kind)
    if not step(f"{kind}: build", command, folder, env):
        return False
    (wheel,) = (folder / "wheel").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (binary,) = [name for name in archive.namelist() if name.endswith(".so")]
        archive.extract(binary, folder)
    return True


def run(kind: str, fuzz: int, arguments: list[str]) -> bool:
    """Build one kind and run everything on it; return whether all passed."""
    with tempfile.TemporaryDirectory(prefix=f"ledgence-{kind}-") as name:
        folder, python, env = Path(name), sys.executable, environment(kind)
        copy_sources(folder)
        vectors = ("tests/conformance/check_profile.py", "ledgence.worker._profile_c")
        tests = (
            *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2"),
            *("-o", "timeout=900", "-o", "faulthandler_timeout=880"),
            *arguments,
        )
        cases = ("tests/fuzz/fuzz_twins.py", "--cases", str(fuzz), "--seed", "1")
        return build(kind, folder) and all(
            [
                step(f"{kind}: golden vectors", [python, *vectors], folder, env),
                step(f"{kind}: tests", [python, *tests], folder, env),
                step(f"{kind}: twin against twin", [python, *cases], folder, env),
            ]
        )


def main(argv: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=list(SUITES), action="append")
    parser.add_argument("--fuzz", type=int, default=30_000)
    parser.add_argument("pytest", nargs="*", default=None)
    options = parser.parse_args(argv)
    passed = [
        run(kind, options.fuzz, options.pytest or list(SUITES[kind]))
        for kind in options.kind or SUITES
    ]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
