/* Sixteen code points to UTF-8 in a few instructions: the steps of wide.h for SSSE3.
 *
 * Each code point is spread out in a lane of its own, with the bytes of its UTF-8 form
 * first; one shuffle then closes the gaps. Which one is found in a table by the lengths of
 * the forms. Processors without SSSE3 and other architectures keep the steps of wide.h:
 * shuffle_open decides, when the module is loaded.
 */
#ifndef LEDGENCE_SHUFFLE_H
#define LEDGENCE_SHUFFLE_H

#include <Python.h>
#include <stdint.h>

#include "wide.h"

#if defined(__x86_64__) && defined(__SSE2__)

#include <tmmintrin.h>

#define SSSE3 __attribute__((target("ssse3")))

typedef struct {
    unsigned char bytes[16];
} Shuffle;

/* By the lanes that are ASCII: eight lanes of two bytes. */
static Shuffle PAIRS[256];
static unsigned char PAIRS_LENGTH[256];
/* By the lanes that are ASCII, and (times 16) those of at most two bytes: four lanes. */
static Shuffle TRIPLES[256];
static unsigned char TRIPLES_LENGTH[256];

static int shuffle_usable = 0;

static void
shuffle_open(void)
{
    for (int mask = 0; mask < 256; mask++) {
        int pairs = 0, triples = 0;
        memset(PAIRS[mask].bytes, 0x80, 16);
        memset(TRIPLES[mask].bytes, 0x80, 16);
        for (int lane = 0; lane < 8; lane++) {
            int length = mask >> lane & 1 ? 1 : 2;
            for (int i = 0; i < length; i++)
                PAIRS[mask].bytes[pairs++] = (unsigned char)(2 * lane + i);
        }
        for (int lane = 0; lane < 4; lane++) {
            int length = mask >> lane & 1 ? 1 : mask >> (lane + 4) & 1 ? 2 : 3;
            for (int i = 0; i < length; i++)
                TRIPLES[mask].bytes[triples++] = (unsigned char)(4 * lane + i);
        }
        PAIRS_LENGTH[mask] = (unsigned char)pairs;
        TRIPLES_LENGTH[mask] = (unsigned char)triples;
    }
    __builtin_cpu_init();
    shuffle_usable = __builtin_cpu_supports("ssse3") != 0;
}

static inline __m128i
select_lanes(__m128i mask, __m128i yes, __m128i no)
{
    return _mm_or_si128(_mm_and_si128(mask, yes), _mm_andnot_si128(mask, no));
}

/* Four code points below U+10000 in lanes of 32 bits. */
SSSE3 static inline char *
shuffle_four(char *at, __m128i codes, __m128i ascii, __m128i pair)
{
    __m128i low = _mm_set1_epi32(0x3f), mark = _mm_set1_epi32(0x80);
    __m128i last = _mm_or_si128(_mm_and_si128(codes, low), mark);
    __m128i over = _mm_srli_epi32(codes, 6);
    __m128i middle = _mm_or_si128(_mm_and_si128(over, low), mark);
    __m128i two = _mm_or_si128(
        _mm_or_si128(over, _mm_set1_epi32(0xc0)), _mm_slli_epi32(last, 8));
    __m128i three = _mm_or_si128(
        _mm_or_si128(_mm_srli_epi32(codes, 12), _mm_set1_epi32(0xe0)),
        _mm_or_si128(_mm_slli_epi32(middle, 8), _mm_slli_epi32(last, 16)));
    __m128i lanes = select_lanes(ascii, codes, select_lanes(pair, two, three));
    int mask = _mm_movemask_ps(_mm_castsi128_ps(ascii))
        | _mm_movemask_ps(_mm_castsi128_ps(pair)) << 4;
    __m128i order = _mm_loadu_si128((const __m128i *)TRIPLES[mask].bytes);

    _mm_storeu_si128((__m128i *)at, _mm_shuffle_epi8(lanes, order));
    return at + TRIPLES_LENGTH[mask];
}

/* Eight code points that have three bytes each. */
SSSE3 static inline char *
shuffle_triples(char *at, __m128i codes)
{
    __m128i low = _mm_set1_epi16(0x3f), mark = _mm_set1_epi16(0x80);
    __m128i first = _mm_or_si128(_mm_srli_epi16(codes, 12), _mm_set1_epi16(0xe0));
    __m128i middle = _mm_or_si128(_mm_and_si128(_mm_srli_epi16(codes, 6), low), mark);
    __m128i last = _mm_or_si128(_mm_and_si128(codes, low), mark);
    __m128i heads = _mm_or_si128(first, _mm_slli_epi16(middle, 8));
    __m128i begin = _mm_or_si128(
        _mm_shuffle_epi8(
            heads, _mm_set_epi8(10, -1, 9, 8, -1, 7, 6, -1, 5, 4, -1, 3, 2, -1, 1, 0)),
        _mm_shuffle_epi8(
            last,
            _mm_set_epi8(-1, 8, -1, -1, 6, -1, -1, 4, -1, -1, 2, -1, -1, 0, -1, -1)));
    __m128i end = _mm_or_si128(
        _mm_shuffle_epi8(
            heads,
            _mm_set_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, 15, 14, -1, 13, 12, -1, 11)),
        _mm_shuffle_epi8(
            last,
            _mm_set_epi8(-1, -1, -1, -1, -1, -1, -1, -1, 14, -1, -1, 12, -1, -1, 10, -1)));

    _mm_storeu_si128((__m128i *)at, begin);
    _mm_storel_epi64((__m128i *)(at + 16), end);
    return at + 24;
}

/* Eight code points below U+800 in lanes of 16 bits. */
SSSE3 static inline char *
shuffle_pairs(char *at, __m128i codes, __m128i ascii, int mask)
{
    __m128i first = _mm_or_si128(_mm_srli_epi16(codes, 6), _mm_set1_epi16(0xc0));
    __m128i last = _mm_or_si128(
        _mm_and_si128(codes, _mm_set1_epi16(0x3f)), _mm_set1_epi16(0x80));
    __m128i lanes = select_lanes(
        ascii, codes, _mm_or_si128(first, _mm_slli_epi16(last, 8)));
    __m128i order = _mm_loadu_si128((const __m128i *)PAIRS[mask].bytes);

    _mm_storeu_si128((__m128i *)at, _mm_shuffle_epi8(lanes, order));
    return at + PAIRS_LENGTH[mask];
}

/* Eight code points below U+10000, none of them special, in lanes of 16 bits. */
SSSE3 static inline char *
shuffle_eight(char *at, __m128i codes)
{
    __m128i zero = _mm_setzero_si128();
    __m128i ascii = _mm_cmpeq_epi16(
        _mm_and_si128(codes, _mm_set1_epi16((short)0xff80)), zero);
    __m128i pair = _mm_cmpeq_epi16(
        _mm_and_si128(codes, _mm_set1_epi16((short)0xf800)), zero);

    if (_mm_movemask_epi8(ascii) == 0xffff) {
        _mm_storel_epi64((__m128i *)at, _mm_packus_epi16(codes, codes));
        return at + 8;
    }
    if (_mm_movemask_epi8(pair) == 0xffff)
        return shuffle_pairs(
            at, codes, ascii, _mm_movemask_epi8(_mm_packs_epi16(ascii, zero)));
    if (_mm_movemask_epi8(pair) == 0)
        return shuffle_triples(at, codes);
    at = shuffle_four(
        at, _mm_unpacklo_epi16(codes, zero), _mm_unpacklo_epi16(ascii, ascii),
        _mm_unpacklo_epi16(pair, pair));
    return shuffle_four(
        at, _mm_unpackhi_epi16(codes, zero), _mm_unpackhi_epi16(ascii, ascii),
        _mm_unpackhi_epi16(pair, pair));
}

/* The lanes of code points that need an escape. */
static inline __m128i
escapes_eight(__m128i codes)
{
    __m128i control = _mm_cmpeq_epi16(
        _mm_subs_epu16(codes, _mm_set1_epi16(0x1f)), _mm_setzero_si128());
    __m128i quote = _mm_cmpeq_epi16(codes, _mm_set1_epi16('"'));
    __m128i backslash = _mm_cmpeq_epi16(codes, _mm_set1_epi16('\\'));

    return _mm_or_si128(control, _mm_or_si128(quote, backslash));
}

/* The lanes of code points that need an escape or are surrogates. */
static inline __m128i
special_eight(__m128i codes)
{
    __m128i surrogate = _mm_cmpeq_epi16(
        _mm_and_si128(codes, _mm_set1_epi16((short)0xf800)),
        _mm_set1_epi16((short)0xd800));

    return _mm_or_si128(escapes_eight(codes), surrogate);
}

/* The last code points of a text, at most eight, followed by blanks. */
static inline __m128i
last_ucs2(const Py_UCS2 *from, Py_ssize_t count)
{
    uint64_t low, high = 0;

    if (count == 8)
        return _mm_loadu_si128((const __m128i *)from);
    if (count >= 4)
        low = load8(from);
    else
        low = load_few((const unsigned char *)from, 2 * count);
    if (count > 4)
        high = load8(from + count - 4) >> (16 * (8 - count));
    __m128i codes = _mm_set_epi64x((long long)high, (long long)low);
    __m128i index = _mm_set_epi16(7, 6, 5, 4, 3, 2, 1, 0);
    __m128i beyond = _mm_cmpgt_epi16(index, _mm_set1_epi16((short)(count - 1)));
    return _mm_or_si128(codes, _mm_and_si128(beyond, _mm_set1_epi16(' ')));
}

/* The last bytes of a text, at most sixteen, followed by blanks. */
static inline __m128i
last_ucs1(const Py_UCS1 *from, Py_ssize_t count)
{
    uint64_t low, high = 0;

    if (count == 16)
        return _mm_loadu_si128((const __m128i *)from);
    low = count >= 8 ? load8(from) : load_few(from, count);
    if (count > 8)
        high = load_few(from + 8, count - 8);
    __m128i bytes = _mm_set_epi64x((long long)high, (long long)low);
    __m128i index =
        _mm_set_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m128i beyond = _mm_cmpgt_epi8(index, _mm_set1_epi8((char)(count - 1)));
    return _mm_or_si128(bytes, _mm_and_si128(beyond, _mm_set1_epi8(' ')));
}

/* Latin-1: mostly ASCII, or eight and eight. */
SSSE3 static inline char *
shuffle_step_ucs1(char *at, const Py_UCS1 *from, Py_ssize_t count, Py_ssize_t *extra)
{
    __m128i bytes = last_ucs1(from, count);
    unsigned odd = escapes_in_vector(bytes); /* and everything beyond ASCII */
    unsigned high = (unsigned)_mm_movemask_epi8(bytes);

    if (odd == 0) {
        _mm_storeu_si128((__m128i *)at, bytes);
        return at + count;
    }
    if (odd & ~high)
        return step_ucs1(at, from, count, extra);
    __m128i zero = _mm_setzero_si128(), ascii = _mm_cmpgt_epi8(bytes, _mm_set1_epi8(-1));
    at = shuffle_pairs(
        at, _mm_unpacklo_epi8(bytes, zero), _mm_unpacklo_epi8(ascii, ascii),
        ~high & 0xff);
    at = shuffle_pairs(
        at, _mm_unpackhi_epi8(bytes, zero), _mm_unpackhi_epi8(ascii, ascii),
        ~high >> 8 & 0xff);
    return at - (WIDE_STEP - count);
}

/* Sixteen code points below U+10000, or NULL when one of them is special. Texts of one
 * script go the first two ways. */
SSSE3 static inline char *
shuffle_sixteen(char *at, __m128i low, __m128i high)
{
    __m128i any = _mm_or_si128(low, high), zero = _mm_setzero_si128();
    __m128i beyond_ascii = _mm_and_si128(any, _mm_set1_epi16((short)0xff80));
    __m128i beyond_pairs = _mm_and_si128(any, _mm_set1_epi16((short)0xf800));

    if (_mm_movemask_epi8(_mm_cmpeq_epi16(beyond_ascii, zero)) == 0xffff) {
        __m128i bytes = _mm_packus_epi16(low, high);
        _mm_storeu_si128((__m128i *)at, bytes);
        return escapes_in_vector(bytes) ? NULL : at + 16;
    }
    if (_mm_movemask_epi8(_mm_cmpeq_epi16(beyond_pairs, zero)) == 0xffff) {
        if (_mm_movemask_epi8(_mm_or_si128(escapes_eight(low), escapes_eight(high))))
            return NULL;
        __m128i limit = _mm_set1_epi16(0x80);
        __m128i first = _mm_cmplt_epi16(low, limit), second = _mm_cmplt_epi16(high, limit);
        int mask = _mm_movemask_epi8(_mm_packs_epi16(first, second));
        at = shuffle_pairs(at, low, first, mask & 0xff);
        return shuffle_pairs(at, high, second, mask >> 8);
    }
    if (_mm_movemask_epi8(_mm_or_si128(special_eight(low), special_eight(high))))
        return NULL;
    return shuffle_eight(shuffle_eight(at, low), high);
}

SSSE3 static inline char *
shuffle_step_ucs2(char *at, const Py_UCS2 *from, Py_ssize_t count, Py_ssize_t *extra)
{
    __m128i low, high = _mm_set1_epi16(' ');

    if (count > 8) {
        low = _mm_loadu_si128((const __m128i *)from);
        high = last_ucs2(from + 8, count - 8);
    }
    else {
        low = last_ucs2(from, count);
    }
    char *end = shuffle_sixteen(at, low, high);
    return end ? end - (WIDE_STEP - count) : step_ucs2(at, from, count, extra);
}

/* Eight code points in lanes of 16 bits; *above collects what does not fit. */
SSSE3 static inline __m128i
narrow_eight(const Py_UCS4 *from, __m128i *above)
{
    __m128i low = _mm_loadu_si128((const __m128i *)from);
    __m128i high = _mm_loadu_si128((const __m128i *)(from + 4));
    __m128i halves = _mm_set_epi8(
        -1, -1, -1, -1, -1, -1, -1, -1, 13, 12, 9, 8, 5, 4, 1, 0);

    *above = _mm_or_si128(*above, _mm_srli_epi32(_mm_or_si128(low, high), 16));
    return _mm_unpacklo_epi64(
        _mm_shuffle_epi8(low, halves), _mm_shuffle_epi8(high, halves));
}

SSSE3 static inline char *
shuffle_step_ucs4(char *at, const Py_UCS4 *from, Py_ssize_t count, Py_ssize_t *extra)
{
    Py_UCS4 last[WIDE_STEP];
    const Py_UCS4 *codes = from;

    if (count < WIDE_STEP) {
        for (Py_ssize_t i = 0; i < WIDE_STEP; i++)
            last[i] = i < count ? from[i] : ' ';
        codes = last;
    }
    __m128i above = _mm_setzero_si128();
    __m128i low = narrow_eight(codes, &above), high = narrow_eight(codes + 8, &above);
    char *end = NULL;
    if (_mm_movemask_epi8(_mm_cmpeq_epi32(above, _mm_setzero_si128())) == 0xffff)
        end = shuffle_sixteen(at, low, high);
    return end ? end - (WIDE_STEP - count) : step_ucs4(at, from, count, extra);
}

SSSE3 static int DEFINE_PUT(shuffle_put_ucs1, Py_UCS1, shuffle_step_ucs1)
SSSE3 static int DEFINE_PUT(shuffle_put_ucs2, Py_UCS2, shuffle_step_ucs2)
SSSE3 static int DEFINE_PUT(shuffle_put_ucs4, Py_UCS4, shuffle_step_ucs4)

#else

#define shuffle_usable 0
#define shuffle_put_ucs1 put_ucs1
#define shuffle_put_ucs2 put_ucs2
#define shuffle_put_ucs4 put_ucs4

static inline void
shuffle_open(void)
{
}

#endif

#endif
