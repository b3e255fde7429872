"""Write ``powers.h``: the powers of ten that reading and writing doubles need.

Run ``python native/powers.py`` after changing the range; a test compares the file
with what this script would write.

Each row holds the first 128 bits of 10**e, cut off, not rounded: with
``f = floor(log2(10**e))`` the row is ``floor(10**e * 2**(127 - f))``, so its highest
bit is set. ``shortest.h`` needs 10**-k for every k it can choose (-292 to 324),
``decimal.h`` every exponent whose number may be a normal double (-342 to 308).
"""

from __future__ import annotations

from pathlib import Path

LOWEST = -342
HIGHEST = 324
WIDTH = 128

HEADER = """\
/* Written by powers.py; do not edit.
 *
 * POWERS[e - POWERS_LOWEST] is {{high, low}}, the first 128 bits of 10**e.
 */
#ifndef LEDGENCE_POWERS_H
#define LEDGENCE_POWERS_H

#include <stdint.h>

#define POWERS_LOWEST ({lowest})
#define POWERS_HIGHEST {highest}

typedef struct {{
    uint64_t high;
    uint64_t low;
}} Power;

static const Power POWERS[{count}] = {{
"""

FOOTER = """\
};

#endif
"""


def power_bits(exponent: int) -> int:
    """The first 128 bits of 10**exponent, cut off."""
    if exponent >= 0:
        power = 10**exponent
        shift = WIDTH - power.bit_length()
        return power << shift if shift >= 0 else power >> -shift
    divisor = 10**-exponent
    # 2**s / divisor has 128 bits for exactly one s; the first guess is low by one
    # only for powers of two, and 10**n is none.
    return (1 << (WIDTH + divisor.bit_length() - 1)) // divisor


def text() -> str:
    """The whole header."""
    rows = []
    for exponent in range(LOWEST, HIGHEST + 1):
        bits = power_bits(exponent)
        if bits.bit_length() != WIDTH:
            raise ValueError(f"10**{exponent} has {bits.bit_length()} bits")
        high, low = bits >> 64, bits & (2**64 - 1)
        rows.append(f"    {{0x{high:016x}u, 0x{low:016x}u}}, /* {exponent} */\n")
    head = HEADER.format(lowest=LOWEST, highest=HIGHEST, count=len(rows))
    return head + "".join(rows) + FOOTER


if __name__ == "__main__":
    Path(__file__).with_name("powers.h").write_text(text(), encoding="ascii")
