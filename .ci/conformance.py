#!/usr/bin/env python3
"""Compare the golden cases under tests/conformance with their source, or refresh them.

usage: conformance.py [--refresh] SOURCE

SOURCE is the folder that holds the golden cases of the contracts. Without
``--refresh`` every difference is printed and the exit status is 1; with it the
copies are made anew. The copies are byte for byte, so they are never edited here.
"""

import argparse
import filecmp
import shutil
import sys
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "tests" / "conformance"
FILES = ("check_profile.py", "run_transcripts.py", "run_workflow.py")
FOLDERS = ("http", "profile", "transcripts", "workflow")


def listing(root: Path) -> set[str]:
    """Return the relative paths of everything that is copied."""
    found = {name for name in FILES if (root / name).is_file()}
    for folder in FOLDERS:
        paths = (root / folder).rglob("*")
        found |= {
            str(path.relative_to(root))
            for path in paths
            if path.is_file() and "__pycache__" not in path.parts
        }
    return found


def differences(source: Path, target: Path) -> list[str]:
    """Name every file that is missing, left over or changed in ``target``."""
    wanted, have = listing(source), listing(target)
    rows = [f"missing: {name}" for name in sorted(wanted - have)]
    rows += [f"left over: {name}" for name in sorted(have - wanted)]
    rows += [
        f"differs: {name}"
        for name in sorted(wanted & have)
        if not filecmp.cmp(source / name, target / name, shallow=False)
    ]
    return rows


def refresh(source: Path, target: Path) -> None:
    """Make ``target`` a byte-identical copy."""
    for name in listing(target) - listing(source):
        (target / name).unlink()
    for name in sorted(listing(source)):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)


def main(argv: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, metavar="SOURCE")
    parser.add_argument("--refresh", action="store_true")
    options = parser.parse_args(argv)
    if not listing(options.source):
        parser.error(f"{options.source} holds no golden cases")
    if options.refresh:
        refresh(options.source, TARGET)
    rows = differences(options.source, TARGET)
    print("\n".join(rows) or f"{len(listing(TARGET))} files are identical")
    return 1 if rows else 0


if __name__ == "__main__":
    sys.exit(main())
