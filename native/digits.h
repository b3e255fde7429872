/* Decimal digits of integers, two or eight at a time. */
#ifndef LEDGENCE_DIGITS_H
#define LEDGENCE_DIGITS_H

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the compiled twin reads and writes eight bytes at a time, least significant first"
#endif

/* Room that integer_put needs: a sign, 20 digits, and whole words are stored. */
#define INTEGER_ROOM 32

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

/* Seventeen digits d1 to d17 in ASCII. */
typedef struct {
    uint64_t head; /* d2 to d9, d2 in the lowest byte */
    uint64_t tail; /* d10 to d17 */
    char first;
    int count; /* up to the last digit that is not zero, at least 1 */
} Seventeen;

/* The digits of value < 10**17, with leading zeros. */
static inline Seventeen
seventeen_digits(uint64_t value)
{
    uint64_t low = value % 100000000, rest = value / 100000000;
    uint64_t first = rest / 100000000, high = rest % 100000000;
    Seventeen digits;

    digits.first = (char)('0' + first);
#ifdef __SSE2__
    /* As eight_digits, both halves at once; 3518437209 / 2**45 stands for 1/10000, 5243 /
     * 2**19 for 1/100 and 6554 / 2**16 for 1/10. */
    __m128i eights = _mm_set_epi64x((long long)low, (long long)high);
    __m128i quotient = _mm_srli_epi64(
        _mm_mul_epu32(eights, _mm_set1_epi32((int)3518437209u)), 45);
    __m128i rest4 = _mm_sub_epi64(eights, _mm_mul_epu32(quotient, _mm_set1_epi32(10000)));
    __m128i fours = _mm_or_si128(quotient, _mm_slli_epi64(rest4, 32));
    quotient = _mm_srli_epi16(_mm_mulhi_epu16(fours, _mm_set1_epi16(5243)), 3);
    __m128i rest2 = _mm_sub_epi16(fours, _mm_mullo_epi16(quotient, _mm_set1_epi16(100)));
    __m128i twos = _mm_or_si128(quotient, _mm_slli_epi32(rest2, 16));
    quotient = _mm_mulhi_epu16(twos, _mm_set1_epi16(6554));
    __m128i rest1 = _mm_sub_epi16(twos, _mm_mullo_epi16(quotient, _mm_set1_epi16(10)));
    __m128i ones = _mm_or_si128(quotient, _mm_slli_epi16(rest1, 8));
    __m128i ascii = _mm_or_si128(ones, _mm_set1_epi8('0'));
    unsigned zeros = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(ones, _mm_setzero_si128()));
    digits.head = (uint64_t)_mm_cvtsi128_si64(ascii);
    digits.tail = (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(ascii, ascii));
    /* One bit above them stands for the first digit. */
    digits.count = 32 - __builtin_clz((zeros ^ 0xffffu) << 1 | 1);
#else
    uint64_t a = eight_digits((uint32_t)high), b = eight_digits((uint32_t)low);
    digits.head = a | ASCII_ZEROS;
    digits.tail = b | ASCII_ZEROS;
    digits.count = b != 0 ? 17 - __builtin_clzll(b) / 8
        : a != 0          ? 9 - __builtin_clzll(a) / 8
                          : 1;
#endif
    return digits;
}

/* Write all seventeen. */
static inline void
seventeen_put(char *out, const Seventeen *digits)
{
    out[0] = digits->first;
    memcpy(out + 1, &digits->head, 8);
    memcpy(out + 9, &digits->tail, 8);
}

/* Write value < 10**8 without leading zeros (8 bytes of room); return the end. */
static inline char *
eight_digits_put(char *out, uint32_t value)
{
    if (value < 100) {
        const char *two = TWO_DIGITS + 2 * value + (value < 10);
        out[0] = two[0];
        out[1] = two[1]; /* after a single digit: overwritten by what follows */
        return out + 1 + (value >= 10);
    }
    uint64_t digits = eight_digits(value);
    int zeros = __builtin_ctzll(digits) & ~7; /* bits of the leading zeros */

    digits = (digits | ASCII_ZEROS) >> zeros;
    memcpy(out, &digits, 8);
    return out + 8 - zeros / 8;
}

/* Write an unsigned integer (INTEGER_ROOM bytes of room) and return its end. */
static inline char *
unsigned_put(char *out, uint64_t value)
{
    uint64_t low;

    if (value < 100000000)
        return eight_digits_put(out, (uint32_t)value);
    if (value >= 10000000000000000u) {
        out = eight_digits_put(out, (uint32_t)(value / 10000000000000000u));
        value %= 10000000000000000u;
        low = eight_digits((uint32_t)(value / 100000000)) | ASCII_ZEROS;
        memcpy(out, &low, 8);
        out += 8;
    }
    else {
        out = eight_digits_put(out, (uint32_t)(value / 100000000));
    }
    low = eight_digits((uint32_t)(value % 100000000)) | ASCII_ZEROS;
    memcpy(out, &low, 8);
    return out + 8;
}

#endif
