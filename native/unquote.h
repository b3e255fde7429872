/* Decoding of JSON strings into str objects (json-profile.md, section 9). */
#ifndef LEDGENCE_UNQUOTE_H
#define LEDGENCE_UNQUOTE_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "utf8.h"

/* Names that repeat in one line are made once. The cache lives for one call. */
#define NAME_SLOTS 256
#define NAME_LONGEST 32

/* Longer texts are left to the interpreter's decoder, which needs no room beside them. */
#define CODES_MOST 4096

typedef struct {
    unsigned char *room; /* the unescaped bytes of the string in hand */
    Py_ssize_t size;
    int caching;
    PyObject *names[NAME_SLOTS];
    Py_UCS2 codes[CODES_MOST]; /* its code points */
} Strings;

/* A scratch area of at least `size` bytes, or NULL with MemoryError. */
static inline unsigned char *
strings_room(Strings *strings, Py_ssize_t size)
{
    if (strings->size < size) {
        PyMem_Free(strings->room);
        strings->size = 0;
        strings->room = PyMem_Malloc((size_t)size);
        if (strings->room == NULL)
            return (unsigned char *)PyErr_NoMemory();
        strings->size = size;
    }
    return strings->room;
}

static inline void
strings_open(Strings *strings, Py_ssize_t line)
{
    strings->room = NULL;
    strings->size = 0;
    strings->caching = line >= 512; /* clearing the slots must pay */
    if (strings->caching)
        memset(strings->names, 0, sizeof(strings->names));
}

static inline void
strings_close(Strings *strings)
{
    PyMem_Free(strings->room);
    for (int i = 0; strings->caching && i < NAME_SLOTS; i++)
        Py_XDECREF(strings->names[i]);
}

static inline PyObject *
string_of_ascii(const unsigned char *from, Py_ssize_t size)
{
    PyObject *text = PyUnicode_New(size, 127);

    if (text != NULL)
        memcpy(PyUnicode_1BYTE_DATA(text), from, (size_t)size);
    return text;
}

/* A str of `count` code points, none above `highest` (of which only the magnitude
 * matters), from two bytes each. */
static PyObject *
string_of_ucs2(const Py_UCS2 *from, Py_ssize_t count, uint32_t highest)
{
    PyObject *text = PyUnicode_New(count, highest);

    if (text == NULL)
        return NULL;
    if (highest > 0xff) {
        memcpy(PyUnicode_2BYTE_DATA(text), from, 2 * (size_t)count);
    }
    else {
        Py_UCS1 *to = PyUnicode_1BYTE_DATA(text);
        for (Py_ssize_t i = 0; i < count; i++)
            to[i] = (Py_UCS1)from[i];
    }
    return text;
}

/* Like utf8_sequence, for bytes that are known to be well-formed, or that unescaping has
 * made: these may spell a lone surrogate. */
static inline int
known_sequence(const unsigned char *at, uint32_t *code)
{
    if (*at < 0xe0) {
        *code = (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu);
        return 2;
    }
    if (*at < 0xf0) {
        *code = (at[0] & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
        return 3;
    }
    *code = (at[0] & 0x07u) << 18 | (at[1] & 0x3fu) << 12 | (at[2] & 0x3fu) << 6
        | (at[3] & 0x3fu);
    return 4;
}

/* From well-formed bytes with a code point above U+FFFF somewhere. */
static PyObject *
string_of_astral(const unsigned char *at, const unsigned char *end)
{
    Py_ssize_t count = 0;
    uint32_t code;

    for (const unsigned char *byte = at; byte < end; byte++)
        count += !is_continuation(*byte);
    PyObject *text = PyUnicode_New(count, 0x10ffff);
    if (text == NULL)
        return NULL;
    Py_UCS4 *to = PyUnicode_4BYTE_DATA(text);
    while (at < end) {
        if (*at < 0x80)
            *to++ = *at++;
        else {
            at += known_sequence(at, &code);
            *to++ = code;
        }
    }
    return text;
}

static PyObject *
string_of_long_utf8(const unsigned char *at, const unsigned char *end, int known)
{
    if (!known && !utf8_is_valid(at, end))
        return NULL;
    return PyUnicode_DecodeUTF8((const char *)at, end - at, "surrogatepass");
}

/* From UTF-8 with a byte from 0x80 on. `known`: it is well-formed, or unescaped, which may
 * spell surrogates. NULL without an exception when it is malformed. */
static PyObject *
string_of_utf8(
    Strings *strings, const unsigned char *at, const unsigned char *end, int known)
{
    const unsigned char *begin = at;
    Py_UCS2 *to = strings->codes;
    uint32_t code, seen = 0;

    if (end - at > CODES_MOST)
        return string_of_long_utf8(at, end, known);
    while (at < end) {
        if (end - at >= 8) {
            uint64_t word = load8(at);
            if (!(word & HIGH_BITS)) {
                for (int i = 0; i < 8; i++)
                    to[i] = at[i];
                to += 8;
                at += 8;
                continue;
            }
        }
        if (*at < 0x80) {
            *to++ = *at++;
            continue;
        }
        int length = known ? known_sequence(at, &code) : utf8_sequence(at, end, &code);
        if (length == 0)
            return NULL;
        if (length == 4) {
            if (!known && !utf8_is_valid(at, end))
                return NULL;
            return string_of_astral(begin, end);
        }
        at += length;
        *to++ = (Py_UCS2)code;
        seen |= code;
    }
    return string_of_ucs2(strings->codes, to - strings->codes, seen);
}

static inline int
hex_digit(unsigned char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* The code of \uXXXX at `at`, whose six bytes end before `end`, else -1. */
static inline int32_t
unicode_escape(const unsigned char *at, const unsigned char *end)
{
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    int a = hex_digit(at[2]), b = hex_digit(at[3]);
    int c = hex_digit(at[4]), d = hex_digit(at[5]);
    return (a | b | c | d) < 0 ? -1 : a << 12 | b << 8 | c << 4 | d;
}

/* Unescape from `at` to `end` into `to`, which has room for as many bytes and 16 more:
 * the end of the result, or NULL where an escape is unknown. *wide becomes nonzero when
 * an escape stands for a code point from U+0080 on. */
static unsigned char *
unescape(
    const unsigned char *at, const unsigned char *end, unsigned char *to, int *wide)
{
    static const unsigned char PLAIN[128] = {
        ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b',
        ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t',
    };

    for (;;) {
        /* Up to the next backslash, eight bytes at a time. */
        while (end - at >= 8) {
            uint64_t word = load8(at);
            uint64_t other = word ^ EACH_BYTE('\\');
            /* The lowest zero byte of `other` is flagged exactly. */
            uint64_t stop = (other - EACH_BYTE(1)) & ~other & HIGH_BITS;
            memcpy(to, &word, 8);
            if (stop) {
                at += __builtin_ctzll(stop) / 8;
                to += __builtin_ctzll(stop) / 8;
                break;
            }
            at += 8;
            to += 8;
        }
        while (at < end && *at != '\\')
            *to++ = *at++;
        if (at == end)
            return to;
        /* The scan for the closing quote has seen a byte after each backslash. */
        if (at[1] < 0x80 && PLAIN[at[1]]) {
            *to++ = PLAIN[at[1]];
            at += 2;
            continue;
        }
        int32_t code = unicode_escape(at, end);
        if (code < 0)
            return NULL;
        at += 6;
        if ((code & 0xfc00) == 0xd800) {
            int32_t low = unicode_escape(at, end);
            if (low >= 0 && (low & 0xfc00) == 0xdc00) {
                code = 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff));
                at += 6;
            }
        }
        *wide |= code >= 0x80;
        to = (unsigned char *)put_code((char *)to, (uint32_t)code, 0x10ffff);
    }
}

/* Where a string ends and what is in it. */
typedef struct {
    const unsigned char *end; /* its closing quote; NULL when there is none */
    int escapes;
    int wide; /* bytes from 0x80 on */
} Extent;

/* Find the closing quote of the string whose first byte is at `at`. The line ends with a
 * zero byte at `end`. Raw control characters are no JSON: `end` becomes NULL. */
static inline Extent
string_extent(const unsigned char *at, const unsigned char *end)
{
    Extent extent = {NULL, 0, 0};
    uint64_t wide = 0;

    for (;;) {
#ifdef __SSE2__
        while (end - at >= 16) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)at);
            __m128i bad = _mm_or_si128(
                _mm_cmpeq_epi8(_mm_max_epu8(bytes, _mm_set1_epi8(0x1f)), _mm_set1_epi8(0x1f)),
                _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                             _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))));
            unsigned stop = (unsigned)_mm_movemask_epi8(bad);
            unsigned high = (unsigned)_mm_movemask_epi8(bytes);
            if (stop) {
                int clean = __builtin_ctz(stop);
                wide |= high & ((1u << clean) - 1);
                at += clean;
                goto special;
            }
            wide |= high;
            at += 16;
        }
#endif
        while (end - at >= 8) {
            uint64_t word = load8(at), high = word & HIGH_BITS;
            uint64_t stop = escapes_in_word(word & ~HIGH_BITS) & ~high;
            if (stop) {
                wide |= high & (stop ^ (stop - 1));
                at += __builtin_ctzll(stop) / 8;
                goto special;
            }
            wide |= high;
            at += 8;
        }
        while (*at >= 0x20 && *at != '"' && *at != '\\')
            wide |= *at++ & 0x80;
    special:
        if (*at == '"') {
            extent.end = at;
            extent.wide = wide != 0;
            return extent;
        }
        if (*at != '\\' || end - at < 2)
            return extent;
        extent.escapes = 1;
        wide |= at[1] & 0x80;
        at += 2;
    }
}

/* The str between `begin` and the end of the extent: NULL with an exception set, or NULL
 * without one where it is no JSON string. */
static PyObject *
string_make(Strings *strings, const unsigned char *begin, Extent extent)
{
    const unsigned char *end = extent.end;
    Py_ssize_t size = end - begin;
    int wide = extent.wide;

    if (!extent.escapes)
        return wide ? string_of_utf8(strings, begin, end, 0)
                    : string_of_ascii(begin, size);
    if (wide && !utf8_is_valid(begin, end))
        return NULL;
    unsigned char *bytes = strings_room(strings, size + 16);
    if (bytes == NULL)
        return NULL;
    unsigned char *last = unescape(begin, end, bytes, &wide);
    if (last == NULL)
        return NULL;
    return wide ? string_of_utf8(strings, bytes, last, 1)
                : string_of_ascii(bytes, last - bytes);
}

/* As string_make for the name of a member. */
static inline PyObject *
string_make_name(Strings *strings, const unsigned char *begin, Extent extent)
{
    Py_ssize_t size = extent.end - begin;

    if (!strings->caching || extent.escapes || extent.wide || size > NAME_LONGEST
        || size == 0)
        return string_make(strings, begin, extent);
    uint64_t mixed = (uint64_t)size * 0x9e3779b97f4a7c15u;
    if (size >= 8)
        mixed ^= load8(begin) * 0x9fb21c651e98df25u ^ load8(extent.end - 8);
    else
        mixed ^= load_few(begin, size);
    mixed *= 0xd6e8feb86659fd93u;
    PyObject **slot = &strings->names[mixed >> 56];
    PyObject *name = *slot;
    if (name != NULL && PyUnicode_GET_LENGTH(name) == size
        && memcmp(PyUnicode_1BYTE_DATA(name), begin, (size_t)size) == 0) {
        Py_INCREF(name);
        return name;
    }
    name = string_of_ascii(begin, size);
    if (name != NULL) {
        Py_XDECREF(*slot);
        Py_INCREF(name);
        *slot = name;
    }
    return name;
}

#endif
