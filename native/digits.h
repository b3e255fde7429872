/* Decimal digits of integers, two or eight at a time. */
#ifndef LEDGENCE_DIGITS_H
#define LEDGENCE_DIGITS_H

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the compiled twin reads and writes eight bytes at a time, least significant first"
#endif

/* Room that integer_put needs: the sign and 19 digits of -2**63, or 20 digits. */
#define INTEGER_ROOM 24

static const char TWO_DIGITS[201] =
    "00010203040506070809101112131415161718192021222324"
    "25262728293031323334353637383940414243444546474849"
    "50515253545556575859606162636465666768697071727374"
    "75767778798081828384858687888990919293949596979899";

static inline int
digit_count(uint64_t value)
{
    static const uint64_t POWERS_OF_TEN[20] = {
        0u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u,
        1000000000u, 10000000000u, 100000000000u, 1000000000000u, 10000000000000u,
        100000000000000u, 1000000000000000u, 10000000000000000u, 100000000000000000u,
        1000000000000000000u, 10000000000000000000u,
    };
    /* log10(2) is about 1233 / 4096. */
    int guess = ((64 - __builtin_clzll(value | 1)) * 1233) >> 12;

    return guess + (value >= POWERS_OF_TEN[guess]);
}

/* Eight digits of value < 10**8 as bytes 0 to 9, the first digit lowest: the number is
 * split into two halves of four digits, then four of two, then eight, all in one word.
 * 10486 / 2**20 and 103 / 2**10 stand for 1/100 and 1/10 in their ranges. */
static inline uint64_t
eight_digits(uint32_t value)
{
    uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32;
    uint64_t hundreds = (fours * 10486 >> 20) & 0x0000007f0000007fu;
    uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
    uint64_t tens = (twos * 103 >> 10) & 0x000f000f000f000fu;

    return tens | (twos - 10 * tens) << 8;
}

#define ASCII_ZEROS 0x3030303030303030u

/* Write value < 10**17 with 17 digits (24 bytes of room) and return how many of them
 * there are up to the last one that is not zero. */
static inline int
digits17_put(char *out, uint64_t value)
{
    uint64_t low = value % 100000000, rest = value / 100000000;
    uint64_t first = rest / 100000000;
    uint64_t a = eight_digits((uint32_t)(rest % 100000000));
    uint64_t b = eight_digits((uint32_t)low);
    uint64_t ascii;

    out[0] = (char)('0' + first);
    ascii = a | ASCII_ZEROS;
    memcpy(out + 1, &ascii, 8);
    ascii = b | ASCII_ZEROS;
    memcpy(out + 9, &ascii, 8);
    if (b != 0)
        return 17 - __builtin_clzll(b) / 8;
    return a != 0 ? 9 - __builtin_clzll(a) / 8 : 1;
}

/* Write an unsigned integer and return the end of its text. */
static inline char *
unsigned_put(char *out, uint64_t value)
{
    if (value < 100) {
        if (value < 10) {
            *out = (char)('0' + value);
            return out + 1;
        }
        memcpy(out, TWO_DIGITS + 2 * value, 2);
        return out + 2;
    }
    int count = digit_count(value);
    char *end = out + count, *at = end;

    while (value >= 100) {
        at -= 2;
        memcpy(at, TWO_DIGITS + 2 * (value % 100), 2);
        value /= 100;
    }
    if (value >= 10)
        memcpy(at - 2, TWO_DIGITS + 2 * value, 2);
    else
        at[-1] = (char)('0' + value);
    return end;
}

#endif
