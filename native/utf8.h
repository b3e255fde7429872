/* Strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef LEDGENCE_UTF8_H
#define LEDGENCE_UTF8_H

#include <Python.h>
#include <stdint.h>

#include "text.h"

static inline int
is_continuation(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

/* The length of the sequence at `at`, which begins with a byte from 0x80 on and ends
 * before `end`: 2, 3 or 4, or 0 when it is malformed. Sets the code point. */
static inline int
utf8_sequence(const unsigned char *at, const unsigned char *end, uint32_t *code)
{
    unsigned char lead = *at;

    if (lead < 0xe0) {
        if (lead < 0xc2 || end - at < 2 || !is_continuation(at[1]))
            return 0;
        *code = (lead & 0x1fu) << 6 | (at[1] & 0x3fu);
        return 2;
    }
    if (lead < 0xf0) {
        if (end - at < 3 || !is_continuation(at[1]) || !is_continuation(at[2]))
            return 0;
        *code = (lead & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
        return *code < 0x800 || is_surrogate(*code) ? 0 : 3;
    }
    if (lead > 0xf4 || end - at < 4 || !is_continuation(at[1]) || !is_continuation(at[2])
        || !is_continuation(at[3]))
        return 0;
    *code = (lead & 0x07u) << 18 | (at[1] & 0x3fu) << 12 | (at[2] & 0x3fu) << 6
        | (at[3] & 0x3fu);
    return *code < 0x10000 || *code > 0x10ffff ? 0 : 4;
}

static int
utf8_is_valid(const unsigned char *at, const unsigned char *end)
{
    uint32_t code;

    while (at < end) {
        if (end - at >= 8 && !(load8(at) & HIGH_BITS)) {
            at += 8;
        }
        else if (*at < 0x80) {
            at++;
        }
        else {
            int length = utf8_sequence(at, end, &code);
            if (length == 0)
                return 0;
            at += length;
        }
    }
    return 1;
}

#endif
