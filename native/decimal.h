/* The double nearest to a decimal number, where 128 bits of the power decide.
 *
 * The method is that of Clinger for small numbers and of Eisel and Lemire for the rest
 * ("Number parsing at a gigabyte per second", 2021), with the error bound worked out
 * below. What is not decided here (ties that cannot be told from near misses, subnormal
 * and overflowing numbers) is left to PyOS_string_to_double.
 */
#ifndef LEDGENCE_DECIMAL_H
#define LEDGENCE_DECIMAL_H

#include <stdint.h>
#include <string.h>

#include "shortest.h"

/* Exponents from 0 to this one have an exact row in POWERS: 5**55 < 2**128. */
#define EXACT_POWER 55

/* The double nearest to digits * 10**exponent: 1 and the result, or 0. */
static int
nearest_double(uint64_t digits, int64_t exponent, double *result)
{
    static const double POWERS_OF_TEN[23] = {
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    };

    if (digits >> 53 == 0 && exponent >= -22 && exponent <= 22) {
        /* Both operands are exact, so the one rounding is the right one. */
        *result = exponent < 0 ? (double)digits / POWERS_OF_TEN[-exponent]
                               : (double)digits * POWERS_OF_TEN[exponent];
        return 1;
    }
    if (digits == 0) {
        *result = 0.0;
        return 1;
    }
    if (exponent < POWERS_LOWEST || exponent > 308)
        return 0;

    /* number = product * 2**scale, where `product` is cut off: the true one is at least
     * as large and less than 2 larger (one unit for the bits of the power that are not in
     * its row, one for those of the multiplication); not larger for an exact row, save
     * for what `sticky` tells. */
    int shift = __builtin_clzll(digits);
    uint64_t normal = digits << shift;
    const Power *power = &POWERS[exponent - POWERS_LOWEST];
    unsigned __int128 low = (unsigned __int128)normal * power->low;
    unsigned __int128 product = (unsigned __int128)normal * power->high + (uint64_t)(low >> 64);
    int exact = exponent >= 0 && exponent <= EXACT_POWER;
    int sticky = (uint64_t)low != 0;
    int scale = 64 - shift + floor_log2_pow10((int)exponent) - 127;

    /* Keep 53 bits of its 127 or 128. */
    int cut = 74 + (int)(product >> 127);
    uint64_t significand = (uint64_t)(product >> cut);
    unsigned __int128 rest = product & (((unsigned __int128)1 << cut) - 1);
    unsigned __int128 half = (unsigned __int128)1 << (cut - 1);

    if (exact)
        significand += rest > half || (rest == half && (sticky || significand & 1));
    else if (rest == half || rest == half - 1)
        return 0;
    else
        significand += rest > half;
    int biased = scale + cut + 1075;
    if (significand >> 53) {
        significand >>= 1;
        biased++;
    }
    if (biased < 1 || biased > 2046)
        return 0;
    uint64_t bits = (significand & (((uint64_t)1 << 52) - 1)) | (uint64_t)biased << 52;
    memcpy(result, &bits, 8);
    return 1;
}

/* The same for a number that has more digits after the 19 given ones: it lies between
 * `digits` and `digits + 1`, so it is known when both have the same nearest double. */
static inline int
nearest_double_cut(uint64_t digits, int64_t exponent, double *result)
{
    double above;

    return nearest_double(digits, exponent, result)
        && nearest_double(digits + 1, exponent, &above) && above == *result;
}

#endif
