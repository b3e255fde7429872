/* The shortest decimal text of a double, spelled as float.__repr__ spells it.
 *
 * Digits: the algorithm of Raffaello Giulietti, "The Schubfach way to render doubles"
 * (2020); the section numbers below are of that paper. In short: of the decimals that
 * read back as the given double, those with the fewest digits lie on a grid 10**k whose
 * step is just below the width of the rounding interval, so two neighbours on that grid
 * and two on the ten times coarser one are the only candidates.
 *
 * Spelling: json-profile.md, section 3.
 */
#ifndef LEDGENCE_SHORTEST_H
#define LEDGENCE_SHORTEST_H

#include <stdint.h>
#include <string.h>

#include "digits.h"
#include "powers.h"

/* Room that double_put needs: 24 characters, and whole words are stored. */
#define DOUBLE_ROOM 40

/* floor(log10(2**q)), floor(log10(3/4 * 2**q)) and floor(log2(10**e)) by fixed point:
 * 1262611 = floor(log10(2) * 2**22), 524031 = ceil(log10(4/3) * 2**22) and
 * 1741647 = floor(log2(10) * 2**19). Exact in the ranges used here: a test walks them.
 * The shift of a negative number is arithmetic with every compiler we build with. */
static inline int
floor_log10_pow2(int q)
{
    return (q * 1262611) >> 22;
}

static inline int
floor_log10_three_quarters_pow2(int q)
{
    return (q * 1262611 - 524031) >> 22;
}

static inline int
floor_log2_pow10(int e)
{
    return (e * 1741647) >> 19;
}

/* floor(g * cp / 2**127) with the lowest bit set when anything was cut off ("rounding to
 * odd", section 9.6). g exceeds the true power by at most one unit, so an exact product
 * shows at most cp < 2**64 in the lowest 64 bits; these are left out of the test. */
static inline uint64_t
multiply_round_to_odd(uint64_t g_high, uint64_t g_low, uint64_t cp)
{
    unsigned __int128 middle = (unsigned __int128)g_high * cp
        + (uint64_t)(((unsigned __int128)g_low * cp) >> 64);
    uint64_t cut = (uint64_t)middle & (((uint64_t)1 << 63) - 1);

    return (uint64_t)(middle >> 63) | (cut != 0);
}

/* The shortest digits of the finite nonzero double with these fields: the value is
 * *digits * 10**result. The digits may end in zeros. */
static inline int
shortest_digits(uint64_t fraction, int biased, uint64_t *digits)
{
    uint64_t c = biased ? fraction | (uint64_t)1 << 52 : fraction;
    int q = biased ? biased - 1075 : -1074;
    uint64_t out = c & 1; /* the ends of the interval count only for even c */
    uint64_t cb = c << 2, cb_left = cb - 2;
    int k = floor_log10_pow2(q);

    if (fraction == 0 && biased > 1) { /* a power of two: the lower gap is half as wide */
        cb_left = cb - 1;
        k = floor_log10_three_quarters_pow2(q);
    }
    const Power *power = &POWERS[-k - POWERS_LOWEST];
    int shift = q + floor_log2_pow10(-k) + 2;
    /* g = floor(10**-k * 2**r) + 1 with 126 bits */
    uint64_t g_low = (power->low >> 2 | power->high << 62) + 1;
    uint64_t g_high = (power->high >> 2) + (g_low == 0);
    uint64_t v = multiply_round_to_odd(g_high, g_low, cb << shift);
    uint64_t left = multiply_round_to_odd(g_high, g_low, cb_left << shift) + out;
    uint64_t right = multiply_round_to_odd(g_high, g_low, (cb + 2) << shift) - out;
    uint64_t s = v >> 2, tens = s / 10 * 10, half = (s << 2) + 2;
    int tens_down = left <= tens << 2, tens_up = (tens + 10) << 2 <= right;
    int down = left <= s << 2, up = (s + 1) << 2 <= right;
    /* Of s and s + 1: the one that fits, of two the nearer one, in the middle the even
     * one. All of it without branches: random digits would mispredict them. */
    int nearer = v > half || (v == half && (s & 1));
    uint64_t fine = s + (uint64_t)(down != up ? up : nearer);
    uint64_t coarse = tens + (tens_up ? 10 : 0);

    *digits = tens_down != tens_up ? coarse : fine;
    return k;
}

/* Spell 0.d1d2... * 10**point with `count` digits, the last one not a zero. `text` holds
 * the 17 digits d1 d2 ... padded with zeros. */
static inline char *
spell_positional(char *out, const char *text, int count, int point)
{
    if (point <= 0) {
        memcpy(out, "0.000", 5);
        out += 2 - point;
        memcpy(out, text, 17);
        return out + count;
    }
    if (count <= point) {
        memcpy(out, text, 17);
        memcpy(out + point, ".0", 2);
        return out + point + 2;
    }
    memcpy(out, text, 17);
    memcpy(out + point + 1, text + point, 17);
    out[point] = '.';
    return out + count + 1;
}

static inline char *
spell_scientific(char *out, const char *text, int count, int exponent)
{
    out[0] = text[0];
    out[1] = '.';
    memcpy(out + 2, text + 1, 16);
    out += count == 1 ? 1 : count + 1;
    *out++ = 'e';
    *out++ = exponent < 0 ? '-' : '+';
    if (exponent < 0)
        exponent = -exponent;
    if (exponent >= 100) {
        *out++ = (char)('0' + exponent / 100);
        exponent %= 100;
    }
    memcpy(out, TWO_DIGITS + 2 * exponent, 2);
    return out + 2;
}

/* Write a finite double at `out` (DOUBLE_ROOM bytes) and return the end of its text. */
static inline char *
double_put(char *out, double value)
{
    uint64_t bits, digits;
    char text[40];

    memcpy(&bits, &value, 8);
    *out = '-';
    out += bits >> 63;
    bits &= ~((uint64_t)1 << 63);
    if (bits == 0) {
        memcpy(out, "0.0", 3);
        return out + 3;
    }
    int exponent = shortest_digits(
        bits & (((uint64_t)1 << 52) - 1), (int)(bits >> 52), &digits);
    /* Normal doubles give 16 or 17 digits, only subnormal ones fewer. */
    int sixteen = digits < 10000000000000000u;
    digits = sixteen ? digits * 10 : digits;
    exponent -= sixteen;
    while (__builtin_expect(digits < 10000000000000000u, 0)) {
        digits *= 10;
        exponent--;
    }
    exponent += 16; /* d1.d2... * 10**exponent */
    int count = digits17_put(text, digits);
    if (exponent < -4 || exponent > 15)
        return spell_scientific(out, text, count, exponent);
    return spell_positional(out, text, count, exponent + 1);
}

#endif
