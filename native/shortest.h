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

/* The highest of three words, with the lowest bit set when anything below was cut off
 * ("rounding to odd", section 9.6). The lowest word is left out: g exceeds the true power
 * by at most one unit, so an exact product shows at most cp < 2**64 there. */
static inline uint64_t
round_to_odd(unsigned __int128 upper)
{
    return (uint64_t)(upper >> 64) | ((uint64_t)upper != 0);
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
    /* g = floor(10**-k * 2**r) + 1 with 128 bits, two more than the paper has; no row ends
     * in ones, so there is no carry. */
    const Power *power = &POWERS[-k - POWERS_LOWEST];
    uint64_t g_high = power->high, g_low = power->low + 1;
    int shift = q + floor_log2_pow10(-k) + 1;
    /* Four times the scaled value is g * cb * 2**shift in three words, of which the highest
     * counts; the ends of the interval are g * (cb - cb_left) * 2**shift below it and
     * g * 2 * 2**shift above. */
    uint64_t cp = cb << shift;
    unsigned __int128 low = (unsigned __int128)g_low * cp;
    unsigned __int128 upper = (unsigned __int128)g_high * cp + (uint64_t)(low >> 64);
    int below = shift + (int)(cb - cb_left) - 1, above = shift + 1;
    unsigned __int128 step = ((unsigned __int128)g_high << below) | g_low >> (64 - below);
    uint64_t v = round_to_odd(upper);
    uint64_t left = round_to_odd(upper - step - ((uint64_t)low < g_low << below)) + out;
    step = ((unsigned __int128)g_high << above) | g_low >> (64 - above);
    uint64_t rest = (uint64_t)low + (g_low << above);
    uint64_t right = round_to_odd(upper + step + (rest < (uint64_t)low)) - out;
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
    char text[40], *end;

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
    int count = digits17_put(text, digits);
    if (exponent < -4 || exponent > 15)
        return spell_scientific(out, text, count, exponent);
    return spell_positional(out, text, count, exponent + 1);
}

#endif
