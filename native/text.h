/* Strings: UTF-8 lengths, escapes, order (json-profile.md, sections 2.2 and 3).
 *
 * The data of a str is read where it lies, by its kind; nothing is cached in it. Every
 * loop runs over memory that the str owns: the short last piece is gathered from loads
 * that overlap instead of reading past the end.
 */
#ifndef LEDGENCE_TEXT_H
#define LEDGENCE_TEXT_H

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

static inline int
text_ready(PyObject *text)
{
#if PY_VERSION_HEX < 0x030C0000
    return PyUnicode_READY(text); /* strings of the old C interface have no data yet */
#else
    (void)text;
    return 0;
#endif
}

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

static inline char *
put_escape(char *at, unsigned char byte)
{
    unsigned char letter = ESCAPE[byte];

    at[0] = '\\';
    at[1] = (char)letter;
    if (letter != 'u')
        return at + 2;
    at[2] = at[3] = '0';
    at[4] = (char)('0' + (byte >> 4));
    at[5] = "0123456789abcdef"[byte & 15];
    return at + 6;
}

/* ------------------------------------------------------------------ ASCII */

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
#endif

/* Write an ASCII text between quotes; at least one byte of room is left after it. */
static inline int
ascii_put(Output *out, const unsigned char *from, Py_ssize_t length)
{
    int status = output_room(out, length + TEXT_SLACK);
    if (status < 0)
        return status;
    char *at = out->at;
    uint64_t escapes;

    *at++ = '"';
    for (;;) {
#ifdef __SSE2__
        while (length >= 16) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)from);
            unsigned bad = escapes_in_vector(bytes);
            _mm_storeu_si128((__m128i *)at, bytes);
            if (bad) {
                escapes = (uint64_t)0x80 << (8 * (__builtin_ctz(bad) & 7));
                from += __builtin_ctz(bad) & 8;
                at += __builtin_ctz(bad) & 8;
                length -= __builtin_ctz(bad) & 8;
                goto escape;
            }
            from += 16;
            at += 16;
            length -= 16;
        }
#endif
        while (length >= 8) {
            uint64_t word = load8(from);
            escapes = escapes_in_word(word);
            memcpy(at, &word, 8);
            if (escapes)
                goto escape;
            from += 8;
            at += 8;
            length -= 8;
        }
        if (length > 0) {
            uint64_t word = load_few(from, length);
            /* Beyond the text count blanks, which need no escape. */
            escapes = escapes_in_word(word | EACH_BYTE(0x20) << (8 * length));
            memcpy(at, &word, 8);
            if (escapes)
                goto escape;
            at += length;
        }
        *at++ = '"';
        out->at = at;
        return 0;
    escape:;
        int clean = __builtin_ctzll(escapes) / 8;
        at = put_escape(at + clean, from[clean]);
        from += clean + 1;
        length -= clean + 1;
        out->at = at;
        status = output_room(out, length + TEXT_SLACK);
        if (status < 0)
            return status;
        at = out->at;
    }
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

/* ------------------------------------------------- the three widths of data */

static inline int
is_surrogate(uint32_t code)
{
    return (code & 0xfffff800u) == 0xd800;
}

static inline char *
put_utf8(char *at, uint32_t code)
{
    if (code < 0x800) {
        at[0] = (char)(0xc0 | code >> 6);
        at[1] = (char)(0x80 | (code & 0x3f));
        return at + 2;
    }
    if (code < 0x10000) {
        uint32_t word = (0xe0 | code >> 12) | (0x80 | (code >> 6 & 0x3f)) << 8
            | (0x80 | (code & 0x3f)) << 16;
        memcpy(at, &word, 4);
        return at + 3;
    }
    uint32_t word = (0xf0 | code >> 18) | (0x80 | (code >> 12 & 0x3f)) << 8
        | (0x80 | (code >> 6 & 0x3f)) << 16 | (0x80 | (code & 0x3f)) << 24;
    memcpy(at, &word, 4);
    return at + 4;
}

/* Eight code points that are all plain ASCII, written at once: 8, else 0. */
static inline int
put_plain_ucs1(char *at, const Py_UCS1 *from)
{
    uint64_t word = load8(from);

    if (word & HIGH_BITS || escapes_in_word(word))
        return 0;
    memcpy(at, &word, 8);
    return 8;
}

static inline int
put_plain_ucs2(char *at, const Py_UCS2 *from)
{
    uint64_t first = load8(from), second = load8(from + 4);
    uint64_t word;

    if ((first | second) & 0xff80ff80ff80ff80u)
        return 0;
    first |= first >> 8;
    second |= second >> 8;
    word = (first & 0xffff) | (first >> 16 & 0xffff0000u)
        | ((second & 0xffff) | (second >> 16 & 0xffff0000u)) << 32;
    if (escapes_in_word(word))
        return 0;
    memcpy(at, &word, 8);
    return 8;
}

static inline int
put_plain_ucs4(char *at, const Py_UCS4 *from)
{
    uint64_t word = 0;

    for (int i = 0; i < 8; i++) {
        if (from[i] >= 0x80)
            return 0;
        word |= (uint64_t)from[i] << (8 * i);
    }
    if (escapes_in_word(word))
        return 0;
    memcpy(at, &word, 8);
    return 8;
}

/* For data of one width define
 *
 * wide_put: write the text between quotes, set *utf8 to its UTF-8 length; at least one
 *     byte of room is left after it. 0, WRITE_SURROGATE, WRITE_OVER or WRITE_FAILED.
 * wide_measure: set *utf8 likewise and *extra to what escapes add to it. 0 or
 *     WRITE_SURROGATE.
 *
 * Both go in blocks, so that the inner loops need no test for room, and so that a
 * compiler can count several code points at once.
 */
#define TEXT_BLOCK 32

#define DEFINE_WIDE(kind, type)                                                         \
    static int put_##kind(                                                              \
        Output *out, const type *from, Py_ssize_t length, Py_ssize_t *utf8)             \
    {                                                                                   \
        Py_ssize_t extra = 0, begun;                                                    \
        int status = output_room(out, TEXT_SLACK);                                      \
        if (status < 0)                                                                 \
            return status;                                                              \
        *out->at++ = '"';                                                               \
        begun = output_size(out);                                                       \
        while (length > 0) {                                                            \
            Py_ssize_t block = length < TEXT_BLOCK ? length : TEXT_BLOCK;               \
            status = output_room(out, 6 * TEXT_BLOCK + TEXT_SLACK);                     \
            if (status < 0)                                                             \
                return status;                                                          \
            char *at = out->at;                                                         \
            length -= block;                                                            \
            while (block > 0) {                                                         \
                if (block >= 8 && put_plain_##kind(at, from)) {                         \
                    from += 8;                                                          \
                    at += 8;                                                            \
                    block -= 8;                                                         \
                    continue;                                                           \
                }                                                                       \
                Py_ssize_t few = block < 8 ? block : 8;                                 \
                for (Py_ssize_t i = 0; i < few; i++) {                                  \
                    uint32_t code = from[i];                                            \
                    if (code < 0x80) {                                                  \
                        if (ESCAPE[code]) {                                             \
                            char *next = put_escape(at, (unsigned char)code);           \
                            extra += next - at - 1;                                     \
                            at = next;                                                  \
                        }                                                               \
                        else                                                            \
                            *at++ = (char)code;                                         \
                    }                                                                   \
                    else if (is_surrogate(code))                                        \
                        return WRITE_SURROGATE;                                         \
                    else                                                                \
                        at = put_utf8(at, code);                                        \
                }                                                                       \
                from += few;                                                            \
                block -= few;                                                           \
            }                                                                           \
            out->at = at;                                                               \
        }                                                                               \
        *utf8 = output_size(out) - begun - extra;                                       \
        *out->at++ = '"';                                                               \
        return 0;                                                                       \
    }                                                                                   \
                                                                                        \
    static int measure_##kind(                                                          \
        const type *from, Py_ssize_t length, Py_ssize_t *utf8, Py_ssize_t *extra)       \
    {                                                                                   \
        Py_ssize_t bytes = length, escapes = 0;                                         \
        while (length > 0) {                                                            \
            Py_ssize_t block = length < 256 ? length : 256;                             \
            uint32_t wide = 0, special = 0, surrogates = 0;                             \
            for (Py_ssize_t i = 0; i < block; i++) {                                    \
                uint32_t code = from[i];                                                \
                wide += (code >= 0x80) + (code >= 0x800) + (code >= 0x10000);           \
                special += (code < 0x20) | (code == '"') | (code == '\\');              \
                surrogates += is_surrogate(code);                                       \
            }                                                                           \
            if (surrogates)                                                             \
                return WRITE_SURROGATE;                                                 \
            for (Py_ssize_t i = 0; special && i < block; i++)                           \
                if (from[i] < 0x80 && ESCAPE[from[i]])                                  \
                    escapes += ESCAPE[from[i]] == 'u' ? 5 : 1;                          \
            bytes += wide;                                                              \
            from += block;                                                              \
            length -= block;                                                            \
        }                                                                               \
        *utf8 = bytes;                                                                  \
        *extra = escapes;                                                               \
        return 0;                                                                       \
    }

DEFINE_WIDE(ucs1, Py_UCS1)
DEFINE_WIDE(ucs2, Py_UCS2)
DEFINE_WIDE(ucs4, Py_UCS4)

/* ------------------------------------------------------------ any string */

/* The number of code points, or -1 with an exception set. */
static inline Py_ssize_t
text_length(PyObject *text)
{
    return text_ready(text) < 0 ? -1 : PyUnicode_GET_LENGTH(text);
}

/* Write a str between quotes and set *utf8 to its UTF-8 length: 0, WRITE_SURROGATE,
 * WRITE_OVER or WRITE_FAILED. At least one byte of room is left after it. */
static inline int
text_put(Output *out, PyObject *text, Py_ssize_t *utf8)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text); /* the caller called text_length */
    const void *data = PyUnicode_DATA(text);

    if (__builtin_expect(PyUnicode_IS_ASCII(text), 1)) {
        *utf8 = length;
        return ascii_put(out, data, length);
    }
    switch (PyUnicode_KIND(text)) {
    case PyUnicode_1BYTE_KIND:
        return put_ucs1(out, data, length, utf8);
    case PyUnicode_2BYTE_KIND:
        return put_ucs2(out, data, length, utf8);
    default:
        return put_ucs4(out, data, length, utf8);
    }
}

/* Set *utf8 to the UTF-8 length of a str and *extra to what its escapes add: 0,
 * WRITE_SURROGATE or WRITE_FAILED. */
static inline int
text_measure(PyObject *text, Py_ssize_t *utf8, Py_ssize_t *extra)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text); /* the caller called text_length */
    const void *data = PyUnicode_DATA(text);

    if (__builtin_expect(PyUnicode_IS_ASCII(text), 1)) {
        *utf8 = length;
        *extra = ascii_escape_bytes(data, length);
        return 0;
    }
    switch (PyUnicode_KIND(text)) {
    case PyUnicode_1BYTE_KIND:
        return measure_ucs1(data, length, utf8, extra);
    case PyUnicode_2BYTE_KIND:
        return measure_ucs2(data, length, utf8, extra);
    default:
        return measure_ucs4(data, length, utf8, extra);
    }
}

/* How many of the first `most` code points fit into `room` bytes of JSON text, a
 * surrogate counting as the "?" that replaces it. -1 with an exception set. */
static Py_ssize_t
text_fit(PyObject *text, Py_ssize_t most, Py_ssize_t room)
{
    Py_ssize_t length = text_length(text), count = 0;

    if (length < 0)
        return -1;
    if (length > most)
        length = most;
    const void *data = PyUnicode_DATA(text);
    int kind = PyUnicode_KIND(text);
    for (; count < length; count++) {
        uint32_t code = PyUnicode_READ(kind, data, count);
        if (code < 0x80)
            room -= ESCAPE[code] == 0 ? 1 : ESCAPE[code] == 'u' ? 6 : 2;
        else if (is_surrogate(code))
            room -= 1;
        else
            room -= 2 + (code >= 0x800) + (code >= 0x10000);
        if (room < 0)
            break;
    }
    return count;
}

/* The first eight bytes of a text in UTF-8 as a number, padded with zeros: where two of
 * them differ, the texts are in the order of the numbers (the order of UTF-8 bytes is
 * that of the code points). A surrogate is spelled like its neighbours; it is refused
 * later. */
static inline uint64_t
text_prefix(PyObject *text)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    const void *data = PyUnicode_DATA(text);

    if (PyUnicode_IS_ASCII(text)) {
        if (length >= 8)
            return __builtin_bswap64(load8(data));
        return length ? __builtin_bswap64(load_few(data, length)) : 0;
    }
    char bytes[16] = {0};
    char *at = bytes;
    int kind = PyUnicode_KIND(text);

    for (Py_ssize_t i = 0; i < length && at < bytes + 8; i++) {
        uint32_t code = PyUnicode_READ(kind, data, i);
        if (code < 0x80)
            *at++ = (char)code;
        else
            at = put_utf8(at, code);
    }
    return __builtin_bswap64(load8(bytes));
}

#endif
