/* Texts of ASCII or of UTF-8 between quotes, eight or sixteen bytes at a time.
 *
 * Every load stays inside the text: its short last piece is gathered from loads that
 * overlap instead of reading past the end.
 */
#ifndef LEDGENCE_ASCII_H
#define LEDGENCE_ASCII_H

#include <Python.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "output.h"

#define EACH_BYTE(value) (0x0101010101010101u * (uint64_t)(value))
#define HIGH_BITS EACH_BYTE(0x80)

/* What a code point below U+0080 becomes: 0 itself, 'u' \u00XX, else \ and the letter. */
static const unsigned char ESCAPE[128] = {
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'b', 't', 'n', 'u', 'f', 'r', 'u', 'u',
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u',
    ['"'] = '"', ['\\'] = '\\',
};

static inline uint64_t
load8(const void *from)
{
    uint64_t word;
    memcpy(&word, from, 8);
    return word;
}

/* The first `count` bytes, 1 to 7 of them, the others zero. */
static inline uint64_t
load_few(const unsigned char *from, Py_ssize_t count)
{
    if (count >= 4) {
        uint32_t head, tail;
        memcpy(&head, from, 4);
        memcpy(&tail, from + count - 4, 4);
        return head | (uint64_t)tail << (8 * (count - 4));
    }
    return from[0] | (uint64_t)from[count / 2] << (8 * (count / 2))
        | (uint64_t)from[count - 1] << (8 * (count - 1));
}

/* The high bit of each byte that must be escaped; every byte is below 0x80. */
static inline uint64_t
escapes_in_word(uint64_t word)
{
    uint64_t fine = (word + EACH_BYTE(0x60))                       /* from U+0020 on */
        & ((word ^ EACH_BYTE('"')) + EACH_BYTE(0x7f))              /* no quote */
        & ((word ^ EACH_BYTE('\\')) + EACH_BYTE(0x7f));            /* no backslash */
    return ~fine & HIGH_BITS;
}

/* The same where bytes from 0x80 on, which need no escape, occur as well. */
static inline uint64_t
escapes_in_utf8_word(uint64_t word)
{
    return escapes_in_word(word & ~HIGH_BITS) & ~word;
}

/* Write an escape (8 bytes of room): as \u00XX always, of which two bytes may count. */
static inline char *
put_escape(char *at, unsigned char byte)
{
    uint64_t letter = ESCAPE[byte];
    uint64_t word = '\\' | letter << 8 | (uint64_t)0x3030 << 16
        | (uint64_t)('0' + (byte >> 4)) << 32
        | (uint64_t)(unsigned char)"0123456789abcdef"[byte & 15] << 40;

    memcpy(at, &word, 8);
    return at + (letter == 'u' ? 6 : 2);
}

/* Room beyond the text itself: quotes, one escape, whole words stored, punctuation. */
#define TEXT_SLACK 32

#ifdef __SSE2__
/* Bit i is set when byte i must be escaped; bytes from 0x80 on count as below 0x20. */
static inline unsigned
escapes_in_vector(__m128i bytes)
{
    __m128i bad = _mm_or_si128(
        _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)),
        _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                     _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))));
    return (unsigned)_mm_movemask_epi8(bad);
}

/* The same without the bytes from 0x80 on. */
static inline unsigned
escapes_in_utf8_vector(__m128i bytes)
{
    __m128i above = _mm_subs_epu8(bytes, _mm_set1_epi8(0x1f));
    __m128i bad = _mm_or_si128(
        _mm_cmpeq_epi8(above, _mm_setzero_si128()),
        _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                     _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))));
    return (unsigned)_mm_movemask_epi8(bad);
}
#endif

/* Write ASCII, or UTF-8 if `wide`, which is a constant, between quotes; at least one byte
 * of room is left after it. */
static inline __attribute__((always_inline)) int
bytes_put(Output *out, const unsigned char *from, Py_ssize_t length, const int wide)
{
    int status = output_room(out, length + TEXT_SLACK);
    if (status < 0)
        return status;
    char *at = out->at;
    Py_ssize_t clean; /* how many bytes stand before the escape that was met */

    *at++ = '"';
    for (;;) {
#ifdef __SSE2__
        while (length >= 16) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)from);
            unsigned bad =
                wide ? escapes_in_utf8_vector(bytes) : escapes_in_vector(bytes);
            _mm_storeu_si128((__m128i *)at, bytes);
            if (bad) {
                clean = __builtin_ctz(bad);
                goto escape;
            }
            from += 16;
            at += 16;
            length -= 16;
        }
#endif
        while (length >= 8) {
            uint64_t word = load8(from);
            uint64_t escapes =
                wide ? escapes_in_utf8_word(word) : escapes_in_word(word);
            memcpy(at, &word, 8);
            if (escapes) {
                clean = __builtin_ctzll(escapes) / 8;
                goto escape;
            }
            from += 8;
            at += 8;
            length -= 8;
        }
        if (length > 0) {
            uint64_t word = load_few(from, length);
            /* Beyond the text count blanks, which need no escape. */
            uint64_t filled = word | EACH_BYTE(0x20) << (8 * length);
            uint64_t escapes =
                wide ? escapes_in_utf8_word(filled) : escapes_in_word(filled);
            memcpy(at, &word, 8);
            if (escapes) {
                clean = __builtin_ctzll(escapes) / 8;
                goto escape;
            }
            at += length;
        }
        *at++ = '"';
        out->at = at;
        return 0;
    escape:
        at = put_escape(at + clean, from[clean]);
        from += clean + 1;
        length -= clean + 1;
        if (__builtin_expect(out->end - at < length + TEXT_SLACK, 0)) {
            out->at = at;
            status = output_grow(out, length + TEXT_SLACK);
            if (status < 0)
                return status;
            at = out->at;
        }
    }
}

static inline int
ascii_put(Output *out, const unsigned char *from, Py_ssize_t length)
{
    return bytes_put(out, from, length, 0);
}

static int
utf8_put(Output *out, const unsigned char *from, Py_ssize_t length)
{
    return bytes_put(out, from, length, 1);
}

/* How many bytes the escapes of an ASCII text add. */
static inline Py_ssize_t
ascii_escape_bytes(const unsigned char *from, Py_ssize_t length)
{
    Py_ssize_t extra = 0;
    uint64_t escapes;

    while (length > 0) {
        Py_ssize_t step = length < 8 ? length : 8;
#ifdef __SSE2__
        if (length >= 16
            && !escapes_in_vector(_mm_loadu_si128((const __m128i *)from))) {
            from += 16;
            length -= 16;
            continue;
        }
#endif
        if (step == 8)
            escapes = escapes_in_word(load8(from));
        else
            escapes = escapes_in_word(
                load_few(from, step) | EACH_BYTE(0x20) << (8 * step));
        while (escapes) {
            extra += ESCAPE[from[__builtin_ctzll(escapes) / 8]] == 'u' ? 5 : 1;
            escapes &= escapes - 1;
        }
        from += step;
        length -= step;
    }
    return extra;
}

#endif
