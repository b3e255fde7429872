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

/* floor(g * cp / 2**128) with the lowest bit set when anything was cut off ("rounding to
 * odd", section 9.6). g = floor(10**-k * 2**r) + 1 has 128 bits here, two more than in the
 * paper; it exceeds the true power by at most one unit, so an exact product shows at most
 * cp < 2**64 in the lowest word, which is left out of the test. */
static inline uint64_t
multiply_round_to_odd(uint64_t g_high, uint64_t g_low, uint64_t cp)
{
    unsigned __int128 upper = (unsigned __int128)g_high * cp
        + (uint64_t)(((unsigned __int128)g_low * cp) >> 64);

    return (uint64_t)(upper >> 64) | ((uint64_t)upper != 0);
}

/* The shortest digits of the double c * 2**q: its value is *digits * 10**result. The digits
 * may end in zeros. No row of POWERS ends in ones, so adding one to it makes no carry. */
static int
shortest_exactly(uint64_t c, int q, int power_of_two, uint64_t *digits)
{
    uint64_t out = c & 1; /* the ends of the interval count only for even c */
    uint64_t cb = c << 2, cb_left = cb - 2;
    int k = floor_log10_pow2(q);

    if (power_of_two) { /* the lower gap is half as wide */
        cb_left = cb - 1;
        k = floor_log10_three_quarters_pow2(q);
    }
    const Power *power = &POWERS[-k - POWERS_LOWEST];
    uint64_t g_high = power->high, g_low = power->low + 1;
    int shift = q + floor_log2_pow10(-k) + 1;
    uint64_t v = multiply_round_to_odd(g_high, g_low, cb << shift);
    uint64_t left = multiply_round_to_odd(g_high, g_low, cb_left << shift) + out;
    uint64_t right = multiply_round_to_odd(g_high, g_low, (cb + 2) << shift) - out;
    uint64_t s = v >> 2, tens = s / 10 * 10, half = (s << 2) + 2;
    int low_fits = left <= tens << 2, high_fits = (tens + 10) << 2 <= right;

    if (low_fits != high_fits) {
        *digits = low_fits ? tens : tens + 10;
        return k;
    }
    low_fits = left <= s << 2;
    high_fits = (s + 1) << 2 <= right;
    if (low_fits != high_fits)
        *digits = low_fits ? s : s + 1;
    else /* of two the nearer one, in the middle the even one */
        *digits = s + (v > half || (v == half && (s & 1)));
    return k;
}

/* The same, for the fields of a double. Nearly always 64 bits of the scaled value's
 * fraction decide: with s its whole part and w half the width of the interval, a multiple
 * of ten is the answer when it is nearer than w, and else the nearer one of s and s + 1,
 * which is inside, because w is at least 1/2. What is too close to call is done exactly. */
static inline int
shortest_digits(uint64_t fraction, int biased, uint64_t *digits)
{
    uint64_t c = biased ? fraction | (uint64_t)1 << 52 : fraction;
    int q = biased ? biased - 1075 : -1074;
    int k = floor_log10_pow2(q);
    const Power *power = &POWERS[-k - POWERS_LOWEST];
    int shift = q + floor_log2_pow10(-k) + 1; /* 1 to 4 */
    uint64_t cp = c << shift;
    unsigned __int128 scaled = (unsigned __int128)power->high * cp
        + (uint64_t)(((unsigned __int128)(power->low + 1) * cp) >> 64);
    uint64_t s = (uint64_t)(scaled >> 64), rest = (uint64_t)scaled;
    uint64_t tens = s / 10 * 10;
    /* In units of 2**-60; each is off by less than two. */
    uint64_t below = (s - tens) << 60 | rest >> 4;
    uint64_t above = ((uint64_t)10 << 60) - below;
    uint64_t width = power->high >> (5 - shift);
    int close = (below - width + 4 <= 8) | (above - width + 4 <= 8)
        | (rest - ((uint64_t)1 << 63) + 4 <= 8) | (fraction == 0);

    if (__builtin_expect(close, 0))
        return shortest_exactly(c, q, fraction == 0 && biased > 1, digits);
    uint64_t coarse = tens + (above < width ? 10 : 0);
    *digits = below < width || above < width ? coarse : s + (rest >> 63);
    return k;
}

/* Spell 0.d1d2... * 10**point. */
static inline char *
spell_positional(char *out, const Seventeen *digits, int point)
{
    if (point <= 0) {
        memcpy(out, "0.000", 5);
        out += 2 - point;
        seventeen_put(out, digits);
        return out + digits->count;
    }
    if (digits->count <= point) {
        seventeen_put(out, digits);
        memcpy(out + point, ".0", 2);
        return out + point + 2;
    }
    if (point <= 8) {
        /* d2 to d17 where they stand behind the point; then, over their beginning, those
         * before the point one place to the left, and the point. */
        uint64_t before = ((uint64_t)1 << (8 * (point - 1))) - 1;
        uint64_t word = (digits->head & before) | (uint64_t)'.' << (8 * (point - 1))
            | (digits->head & ~before) << 8;
        out[0] = digits->first;
        memcpy(out + 2, &digits->head, 8);
        memcpy(out + 10, &digits->tail, 8);
        memcpy(out + 1, &word, 8);
        return out + digits->count + 1;
    }
    char text[32];
    seventeen_put(text, digits);
    memcpy(out, text, 16);
    memcpy(out + point + 1, text + point, 16);
    out[point] = '.';
    return out + digits->count + 1;
}

/* Spell d1.d2... * 10**exponent. */
static inline char *
spell_scientific(char *out, const Seventeen *digits, int exponent)
{
    out[0] = digits->first;
    out[1] = '.';
    memcpy(out + 2, &digits->head, 8);
    memcpy(out + 10, &digits->tail, 8);
    out += digits->count == 1 ? 1 : digits->count + 1;
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

/* Write a number of few decimals, as people and computers mostly have them; NULL when it
 * is none. A double has no two decimals of up to 15 digits in its interval, so the one that
 * reads back is the shortest: whole / scale reads back, because the division rounds
 * correctly and both its operands are exact. */
static inline char *
put_few_decimals(char *out, double value)
{
    int small = value < 1e9;
    double scale = small ? 1e6 : 1e3;

    if (!(value >= 1e-4 && value < 1e12))
        return NULL;
    uint64_t whole = (uint64_t)(value * scale + 0.5); /* below 10**15 */
    if ((double)whole / scale != value)
        return NULL;
    uint64_t integer = small ? whole / 1000000 : whole / 1000;
    uint64_t fraction =
        small ? (whole - integer * 1000000) * 100 : (whole - integer * 1000) * 100000;
    uint64_t digits = eight_digits((uint32_t)fraction), ascii = digits | ASCII_ZEROS;

    out = unsigned_put(out, integer);
    *out = '.';
    memcpy(out + 1, &ascii, 8);
    return out + 2 + (63 - __builtin_clzll(digits | 1)) / 8;
}

/* Whether the next double is likely to have few decimals, as the last ones had. It decides
 * about speed only. The interpreter lock guards it. */
static int few_decimals_credit = 0;
static unsigned few_decimals_turn = 0;

/* Write a finite double at `out` (DOUBLE_ROOM bytes) and return the end of its text. */
static inline char *
double_put(char *out, double value)
{
    uint64_t bits, digits;
    char *end;

    memcpy(&bits, &value, 8);
    *out = '-';
    out += bits >> 63;
    bits &= ~((uint64_t)1 << 63);
    if (bits == 0) {
        memcpy(out, "0.0", 3);
        return out + 3;
    }
    if (few_decimals_credit > 0 || ++few_decimals_turn % 16 == 0) {
        memcpy(&value, &bits, 8);
        end = put_few_decimals(out, value);
        if (end != NULL) {
            few_decimals_credit = 8;
            return end;
        }
        few_decimals_credit -= few_decimals_credit > 0;
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
    Seventeen spelled = seventeen_digits(digits);
    if (exponent < -4 || exponent > 15)
        return spell_scientific(out, &spelled, exponent);
    return spell_positional(out, &spelled, exponent + 1);
}

#endif
