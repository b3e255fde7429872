#!/usr/bin/env python3
"""Compare the native spelling and reading of doubles with CPython's own.

usage: fuzz_doubles.py [--count N] [--seed S]

Each double is spelled by the native ``encode`` and by ``float.__repr__``, and the text
is read back by the native ``loads``. The exit status is 1 at the first difference.
"""

from __future__ import annotations

import argparse
import math
import random
import struct
import sys
import time
from array import array
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from ledgence.worker import _profile_c as native

BATCH = 10_000


def bits(rng: random.Random) -> array[float]:
    """Any bit pattern: mostly exponents of no use in daily life."""
    return array("d", rng.randbytes(8 * BATCH))


def fractions(rng: random.Random) -> array[float]:
    """Seventeen digits between 0 and 500."""
    return array("d", (rng.random() * 500 for _ in range(BATCH)))


def decimals(rng: random.Random) -> array[float]:
    """Few digits, as people write them."""
    return array(
        "d",
        (
            rng.randrange(10 ** rng.randrange(1, 18)) / 10.0 ** rng.randrange(23)
            for _ in range(BATCH)
        ),
    )


def integers(rng: random.Random) -> array[float]:
    """Whole numbers up to 2**70, where the spelling changes twice."""
    return array(
        "d", (float(rng.getrandbits(rng.randrange(1, 71))) for _ in range(BATCH))
    )


def subnormals(rng: random.Random) -> array[float]:
    """Doubles with few significant bits."""
    raw = (rng.getrandbits(rng.randrange(1, 54)) for _ in range(BATCH))
    return array("d", struct.pack(f"<{BATCH}Q", *raw))


def edges(rng: random.Random) -> array[float]:
    """Powers of two and ten, and their near neighbours."""
    found = array("d")
    while len(found) < BATCH:
        power = (
            math.ldexp(1.0, rng.randrange(-1074, 1024))
            if rng.random() < 0.5
            else float(f"1e{rng.randrange(-323, 309)}")
        )
        steps = rng.randrange(-8, 9)
        raw = struct.unpack("<q", struct.pack("<d", power))[0] + steps
        if raw >= 0:
            found.frombytes(struct.pack("<q", raw))
    return found


SOURCES: tuple[Callable[[random.Random], array[float]], ...] = (
    bits,
    bits,
    bits,
    fractions,
    decimals,
    integers,
    subnormals,
    edges,
)


def compare(values: list[float]) -> str | None:
    """Describe the first difference, if any."""
    text = native.encode(values, 1 << 30)
    if text != f"[{','.join(map(float.__repr__, values))}]".encode():
        for value in values:
            token = native.encode(value, 64).decode()
            if token != repr(value):
                return f"{value.hex()}: spelled {token}, repr {value!r}"
        return "the texts of a list differ, those of its items do not"
    back = native.loads(text)
    if array("d", back).tobytes() != array("d", values).tobytes():
        for value, read in zip(values, back, strict=True):
            if value.hex() != read.hex():
                return f"{value!r}: read {read.hex()}, should be {value.hex()}"
    return None


def run(count: int, seed: int) -> tuple[int, str | None]:
    """Compare at least ``count`` doubles; return how many, and a difference."""
    rng = random.Random(seed)
    done = 0
    while done < count:
        for source in SOURCES:
            values = [value for value in source(rng) if math.isfinite(value)]
            difference = compare(values)
            if difference is not None:
                return done, difference
            done += len(values)
    return done, None


def main(argv: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    started = time.perf_counter()
    done, difference = run(options.count, options.seed)
    seconds = time.perf_counter() - started
    sys.stdout.write(f"{done} doubles in {seconds:.0f} s, seed {options.seed}\n")
    if difference is not None:
        sys.stdout.write(f"DIFFERENCE: {difference}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
