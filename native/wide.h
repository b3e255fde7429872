/* Texts with code points beyond ASCII, in data of one, two or four bytes each, as UTF-8
 * between quotes.
 *
 * Eight code points make a step. A step without escapes and surrogates is written without
 * branches (shuffle.h does it in a few instructions where the processor has them); one
 * with them is written one by one. Steps come in blocks, so that they need no test for room.
 */
#ifndef LEDGENCE_WIDE_H
#define LEDGENCE_WIDE_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "ascii.h"

static inline int
is_surrogate(uint32_t code)
{
    return (code & 0xfffff800u) == 0xd800;
}

/* Write a code point that needs no escape; four bytes of room. Which length it has is
 * decided without branches, because texts mix them: `highest` is a constant that tells the
 * compiler which lengths occur. */
static inline char *
put_code(char *at, uint32_t code, uint32_t highest)
{
    uint32_t two = code >= 0x80, three = 0, four = 0;
    uint32_t word = code, last = 0x80 | (code & 0x3f), middle = 0x80 | (code >> 6 & 0x3f);

    word = two ? (0xc0 | code >> 6) | last << 8 : word;
    if (highest > 0xff) {
        three = code >= 0x800;
        word = three ? (0xe0 | code >> 12) | middle << 8 | last << 16 : word;
    }
    if (highest > 0xffff) {
        four = code >= 0x10000;
        word = four ? (0xf0 | code >> 18) | (0x80 | (code >> 12 & 0x3f)) << 8
                | middle << 16 | last << 24
                    : word;
    }
    memcpy(at, &word, 4);
    return at + 1 + two + three + four;
}

/* Write any code point but a surrogate and add to *extra what its escape costs beyond
 * UTF-8; eight bytes of room. */
static inline char *
put_any(char *at, uint32_t code, uint32_t highest, Py_ssize_t *extra)
{
    if (code < 0x80) {
        if (ESCAPE[code]) {
            char *next = put_escape(at, (unsigned char)code);
            *extra += next - at - 1;
            return next;
        }
        *at = (char)code;
        return at + 1;
    }
    return put_code(at, code, highest);
}

#define WIDE_STEP 16
/* Six bytes for each code point of a step, and what vector stores write beyond. */
#define WIDE_ROOM (6 * WIDE_STEP + 32)

/* For data of one width define
 *
 * step_...: write `count` code points, at most WIDE_STEP, and return the new place, or NULL
 *     for a surrogate.
 * measure_...: set *utf8 to the UTF-8 length and *extra to what escapes add to it. 0 or
 *     WRITE_SURROGATE.
 */
#define DEFINE_WIDE(kind, type, highest)                                                \
    static inline char *step_##kind(                                                    \
        char *at, const type *from, Py_ssize_t count, Py_ssize_t *extra)                \
    {                                                                                   \
        for (Py_ssize_t i = 0; i < count; i++) {                                        \
            if (is_surrogate(from[i]))                                                  \
                return NULL;                                                            \
            at = put_any(at, from[i], highest, extra);                                  \
        }                                                                               \
        return at;                                                                      \
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
                special |= (code < 0x20) | (code == '"') | (code == '\\');              \
                surrogates |= is_surrogate(code);                                       \
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

DEFINE_WIDE(ucs1, Py_UCS1, 0xff)
DEFINE_WIDE(ucs2, Py_UCS2, 0xffff)
DEFINE_WIDE(ucs4, Py_UCS4, 0x10ffff)

/* Define put_...: write a text between quotes and set *utf8 to its UTF-8 length; at least
 * one byte of room is left after it. 0, WRITE_SURROGATE, WRITE_OVER or WRITE_FAILED. */
#define DEFINE_PUT(name, type, step)                                                    \
    name(Output *out, const type *from, Py_ssize_t length, Py_ssize_t *utf8)            \
    {                                                                                   \
        Py_ssize_t extra = 0, begun = output_size(out) + 1;                             \
        int status = output_room(out, WIDE_ROOM);                                       \
        if (status < 0)                                                                 \
            return status;                                                              \
        char *at = out->at;                                                             \
        *at++ = '"';                                                                    \
        while (length > 0) {                                                            \
            Py_ssize_t count = length < WIDE_STEP ? length : WIDE_STEP;                 \
            at = step(at, from, count, &extra);                                         \
            if (at == NULL)                                                             \
                return WRITE_SURROGATE;                                                 \
            from += count;                                                              \
            length -= count;                                                            \
            if (__builtin_expect(out->end - at < WIDE_ROOM, 0)) {                       \
                out->at = at;                                                           \
                status = output_grow(out, WIDE_ROOM);                                   \
                if (status < 0)                                                         \
                    return status;                                                      \
                at = out->at;                                                           \
            }                                                                           \
        }                                                                               \
        *at++ = '"';                                                                    \
        out->at = at;                                                                   \
        *utf8 = output_size(out) - 1 - begun - extra;                                   \
        return 0;                                                                       \
    }

static int DEFINE_PUT(put_ucs1, Py_UCS1, step_ucs1)
static int DEFINE_PUT(put_ucs2, Py_UCS2, step_ucs2)
static int DEFINE_PUT(put_ucs4, Py_UCS4, step_ucs4)

#endif
