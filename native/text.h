/* Strings: UTF-8 lengths, escapes, order (json-profile.md, sections 2.2 and 3).
 *
 * The data of a str is read where it lies, by its kind; nothing is cached in it. UTF-8
 * that somebody else has cached is used.
 */
#ifndef LEDGENCE_TEXT_H
#define LEDGENCE_TEXT_H

#include <Python.h>
#include <stdint.h>

#include "ascii.h"
#include "shuffle.h"
#include "wide.h"

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

/* The number of code points, or -1 with an exception set. */
static inline Py_ssize_t
text_length(PyObject *text)
{
    return text_ready(text) < 0 ? -1 : PyUnicode_GET_LENGTH(text);
}

/* The UTF-8 of a text beyond ASCII, and its size, if a C function has asked the
 * interpreter for it before: then it stays with the text. It holds no surrogates. Else, or
 * where so much is more than the output can hold, NULL. */
static inline const unsigned char *
text_cached(const Output *out, PyObject *text, Py_ssize_t *size)
{
#ifdef Py_GIL_DISABLED
    (void)out, (void)text, (void)size;
    return NULL;
#else
    PyCompactUnicodeObject *compact = (PyCompactUnicodeObject *)text;

    if (compact->utf8 == NULL || compact->utf8_length > out->ceiling)
        return NULL;
    *size = compact->utf8_length;
    return (const unsigned char *)compact->utf8;
#endif
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
    const unsigned char *cached = text_cached(out, text, utf8);
    if (cached != NULL)
        return utf8_put(out, cached, *utf8);
    switch (PyUnicode_KIND(text)) {
    case PyUnicode_1BYTE_KIND:
        return shuffle_usable ? shuffle_put_ucs1(out, data, length, utf8)
                              : put_ucs1(out, data, length, utf8);
    case PyUnicode_2BYTE_KIND:
        return shuffle_usable ? shuffle_put_ucs2(out, data, length, utf8)
                              : put_ucs2(out, data, length, utf8);
    default:
        return shuffle_usable ? shuffle_put_ucs4(out, data, length, utf8)
                              : put_ucs4(out, data, length, utf8);
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
    if (PyUnicode_IS_ASCII(text) && length + ascii_escape_bytes(data, length) <= room)
        return length;
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
        at = put_code(at, code, 0x10ffff);
    }
    return __builtin_bswap64(load8(bytes));
}

#endif
