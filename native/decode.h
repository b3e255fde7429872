/* One line of JSON to Python objects (json-profile.md, section 9), with stacks of its own.
 *
 * Finished values wait on a stack until the container they belong to closes; then it is
 * built at its right size. So depth costs no C stack, and repeated names are seen where
 * the contract wants them seen. Nothing here runs Python code.
 */
#ifndef LEDGENCE_DECODE_H
#define LEDGENCE_DECODE_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "collector.h"
#include "decimal.h"
#include "unquote.h"

/* Containers inside each other: at least 256 must decode. */
#define DECODE_DEPTH 1000
/* Digits of an integer, whatever the interpreter's own limit is. */
#define DECODE_DIGITS 4300
#define VALUES_FIRST 256

typedef struct {
    const unsigned char *at;
    const unsigned char *end; /* a zero byte stands there */
    const char *reason;       /* why the line is refused */
    int unique;
    int depth;
    PyObject **values; /* the children of all open containers */
    Py_ssize_t used;
    Py_ssize_t room;
    Strings strings;
    PyObject *first[VALUES_FIRST];
    Py_ssize_t open[DECODE_DEPTH]; /* where the children of each begin; ~ for an object */
} Decoder;

static PyObject *
decode_refuse(Decoder *decoder, const char *reason)
{
    decoder->reason = reason;
    return NULL;
}

/* Push a value, of which the reference is taken over. -1 with MemoryError. */
static inline int
decode_push(Decoder *decoder, PyObject *value)
{
    if (decoder->used == decoder->room) {
        Py_ssize_t room = 2 * decoder->room;
        PyObject **old = decoder->values == decoder->first ? NULL : decoder->values;
        PyObject **values = PyMem_Realloc(old, (size_t)room * sizeof(PyObject *));
        if (values == NULL) {
            Py_DECREF(value);
            PyErr_NoMemory();
            return -1;
        }
        if (old == NULL)
            memcpy(values, decoder->first, (size_t)decoder->used * sizeof(PyObject *));
        decoder->values = values;
        decoder->room = room;
    }
    decoder->values[decoder->used++] = value;
    return 0;
}

static inline const unsigned char *
skip_space(const unsigned char *at)
{
    while (*at <= ' ' && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

static inline int
is_digit(unsigned char byte)
{
    return (unsigned char)(byte - '0') < 10;
}

/* ----------------------------------------------------------------- numbers */

static PyObject *
decode_long_integer(Decoder *decoder, const unsigned char *at, int negative)
{
    Py_ssize_t count = decoder->at - at;
    PyObject *value = PyLong_FromLong(0), *scale = NULL, *part = NULL, *product;

    if (count > DECODE_DIGITS) {
        Py_DECREF(value);
        return decode_refuse(decoder, "int_range");
    }
    /* Eighteen digits at a time: PyLong_FromString obeys a limit that programs set. */
    while (value != NULL && at < decoder->at) {
        uint64_t digits = 0, power = 1;
        for (int i = 0; i < 18 && at < decoder->at; i++, at++) {
            digits = digits * 10 + (*at - '0');
            power *= 10;
        }
        scale = PyLong_FromUnsignedLongLong(power);
        part = PyLong_FromUnsignedLongLong(digits);
        product = scale && part ? PyNumber_Multiply(value, scale) : NULL;
        Py_SETREF(value, product ? PyNumber_Add(product, part) : NULL);
        Py_XDECREF(product);
        Py_XDECREF(part);
        Py_XDECREF(scale);
    }
    if (value != NULL && negative)
        Py_SETREF(value, PyNumber_Negative(value));
    return value;
}

static PyObject *
decode_double(const unsigned char *token, uint64_t digits, int64_t exponent, int cut)
{
    int negative = *token == '-';
    double value;

    if (!(cut ? nearest_double_cut(digits, exponent, &value)
              : nearest_double(digits, exponent, &value))) {
        /* It stops at the end of the token, which is the longest number there. */
        char *end;
        value = PyOS_string_to_double((const char *)token + negative, &end, NULL);
        if (value == -1.0 && PyErr_Occurred())
            return NULL;
    }
    return PyFloat_FromDouble(negative ? -value : value);
}

/* Nineteen digits fit into 64 bits; the others only count. */
typedef struct {
    uint64_t digits;
    Py_ssize_t kept;
    int64_t dropped;
} Digits;

/* Eight bytes that are digits, as a number: pairs, fours, then all, in one word. */
static inline int
eight_digits_read(const unsigned char *at, uint64_t *value)
{
    uint64_t word = load8(at), digits = word - ASCII_ZEROS;

    if (((word + EACH_BYTE(0x46)) | digits) & HIGH_BITS)
        return 0;
    digits = digits * 10 + (digits >> 8);
    digits = (digits & 0x000000ff000000ffu) * (100 + ((uint64_t)1000000 << 32))
        + (digits >> 16 & 0x000000ff000000ffu) * (1 + ((uint64_t)10000 << 32));
    *value = digits >> 32;
    return 1;
}

/* Take all digits from `at` on; return where they end. */
static inline const unsigned char *
digits_take(Digits *number, const unsigned char *at, const unsigned char *end)
{
    uint64_t eight;

    /* Most numbers are short: three looks tell, before eight bytes are tried. */
    while (end - at >= 8 && is_digit(at[2]) && is_digit(at[3]) && is_digit(at[7])
           && number->kept <= 11 && eight_digits_read(at, &eight)) {
        number->digits = number->digits * 100000000 + eight;
        number->kept += 8; /* leading zeros may count, which only costs a slower way */
        at += 8;
    }
    for (; is_digit(*at); at++) {
        if (number->kept < 19) {
            number->digits = number->digits * 10 + (uint64_t)(*at - '0');
            number->kept += number->digits != 0;
        }
        else {
            number->dropped++;
        }
    }
    return at;
}

static PyObject *
decode_number(Decoder *decoder)
{
    const unsigned char *token = decoder->at, *at = token + (*token == '-');
    const unsigned char *begin = at;
    Digits number = {0, 0, 0};
    int64_t exponent = 0;
    int floating = 0;

    if (!is_digit(*at))
        return decode_refuse(decoder, "syntax");
    if (*at == '0')
        at++;
    else
        at = digits_take(&number, at, decoder->end);
    decoder->at = at; /* the end of the longest number so far */
    if (*at == '.' && is_digit(at[1])) {
        const unsigned char *point = at + 1;
        floating = 1;
        at = digits_take(&number, point, decoder->end);
        exponent = point - at;
        decoder->at = at;
    }
    if (*at == 'e' || *at == 'E') {
        const unsigned char *power = at + 1;
        int minus = *power == '-';
        int64_t written = 0;
        power += minus || *power == '+';
        if (is_digit(*power)) {
            floating = 1;
            for (; is_digit(*power); power++)
                if (written < 100000000)
                    written = written * 10 + (*power - '0');
            exponent += minus ? -written : written;
            decoder->at = power;
        }
    }
    if (floating)
        return decode_double(
            token, number.digits, exponent + number.dropped, number.dropped > 0);
    if (number.dropped || number.digits > (uint64_t)INT64_MAX)
        return decode_long_integer(decoder, begin, *token == '-');
    if (*token == '-')
        return PyLong_FromLongLong(-(int64_t)number.digits);
    return PyLong_FromLongLong((int64_t)number.digits);
}

/* -------------------------------------------------- strings and constants */

static inline PyObject *
decode_string(Decoder *decoder, int is_name)
{
    const unsigned char *begin = decoder->at + 1;
    Extent extent = string_extent(begin, decoder->end);
    PyObject *text;

    if (extent.end == NULL)
        return decode_refuse(decoder, "syntax");
    text = is_name ? string_make_name(&decoder->strings, begin, extent)
                   : string_make(&decoder->strings, begin, extent);
    if (text == NULL && !PyErr_Occurred())
        return decode_refuse(decoder, "syntax");
    decoder->at = extent.end + 1;
    return text;
}

static inline int
decode_word(Decoder *decoder, const char *word, Py_ssize_t size)
{
    /* The zero byte at the end of the line differs from every letter. */
    if (strncmp((const char *)decoder->at, word, (size_t)size) != 0)
        return 0;
    decoder->at += size;
    return 1;
}

static PyObject *
decode_constant(Decoder *decoder)
{
    if (decode_word(decoder, "null", 4))
        Py_RETURN_NONE;
    if (decode_word(decoder, "true", 4))
        Py_RETURN_TRUE;
    if (decode_word(decoder, "false", 5))
        Py_RETURN_FALSE;
    if (decode_word(decoder, "NaN", 3) || decode_word(decoder, "Infinity", 8)
        || decode_word(decoder, "-Infinity", 9))
        return decode_refuse(decoder, "constant");
    return decode_refuse(decoder, "syntax");
}

/* -------------------------------------------------------------- containers */

static PyObject *
decode_new_dict(Py_ssize_t count)
{
#if PY_VERSION_HEX < 0x030D0000
    if (count > 5)
        return _PyDict_NewPresized(count); /* private from 3.13 on */
#else
    (void)count;
#endif
    return PyDict_New();
}

/* Take the children of the innermost container off the stack and build it. */
static PyObject *
decode_close_list(Decoder *decoder, Py_ssize_t first)
{
    Py_ssize_t count = decoder->used - first;
    PyObject *list = PyList_New(count);

    if (list == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < count; i++)
        PyList_SET_ITEM(list, i, decoder->values[first + i]);
    decoder->used = first;
    return list;
}

static PyObject *
decode_close_dict(Decoder *decoder, Py_ssize_t first)
{
    Py_ssize_t count = (decoder->used - first) / 2;
    PyObject *dict = decode_new_dict(count);

    if (dict == NULL)
        return NULL;
    for (Py_ssize_t i = first; i < decoder->used; i += 2) {
        if (PyDict_SetItem(dict, decoder->values[i], decoder->values[i + 1]) < 0) {
            Py_DECREF(dict);
            return NULL;
        }
    }
    if (decoder->unique && PyDict_GET_SIZE(dict) != count) {
        Py_DECREF(dict);
        return decode_refuse(decoder, "duplicate");
    }
    while (decoder->used > first)
        Py_DECREF(decoder->values[--decoder->used]);
    return dict;
}

/* Push the value at decoder->at: 0, 1 when it is a container that is now open, or -1. */
static inline int
decode_value(Decoder *decoder)
{
    PyObject *value;

    switch (*decoder->at) {
    case '"':
        value = decode_string(decoder, 0);
        break;
    case '{':
    case '[':
        if (decoder->depth == DECODE_DEPTH) {
            decode_refuse(decoder, "depth");
            return -1;
        }
        decoder->open[decoder->depth++] =
            *decoder->at == '{' ? ~decoder->used : decoder->used;
        decoder->at++;
        return 1;
    case '-':
        if (decoder->at[1] == 'I') {
            value = decode_constant(decoder);
            break;
        }
        /* fall through */
    case '0': case '1': case '2': case '3': case '4':
    case '5': case '6': case '7': case '8': case '9':
        value = decode_number(decoder);
        break;
    default:
        value = decode_constant(decoder);
    }
    return value == NULL ? -1 : decode_push(decoder, value);
}

/* Read a name and its colon. */
static inline int
decode_name(Decoder *decoder)
{
    decoder->at = skip_space(decoder->at);
    if (*decoder->at != '"') {
        decode_refuse(decoder, "syntax");
        return -1;
    }
    PyObject *name = decode_string(decoder, 1);
    if (name == NULL || decode_push(decoder, name) < 0)
        return -1;
    decoder->at = skip_space(decoder->at);
    if (*decoder->at != ':') {
        decode_refuse(decoder, "syntax");
        return -1;
    }
    decoder->at++;
    return 0;
}

/* Close the innermost container, whose bracket is at decoder->at. */
static inline int
decode_close(Decoder *decoder)
{
    Py_ssize_t first = decoder->open[decoder->depth - 1];
    PyObject *value = first < 0 ? decode_close_dict(decoder, ~first)
                                : decode_close_list(decoder, first);
    if (value == NULL)
        return -1;
    decoder->at++;
    decoder->depth--;
    return decode_push(decoder, value);
}

/* Everything: 0 with one value on the stack, or -1. */
static int
decode_line(Decoder *decoder)
{
    for (;;) {
        decoder->at = skip_space(decoder->at);
        int opened = decode_value(decoder);
        if (opened < 0)
            return -1;
        for (;;) {
            decoder->at = skip_space(decoder->at);
            if (decoder->depth == 0) {
                if (decoder->at == decoder->end)
                    return 0;
                decode_refuse(decoder, "syntax");
                return -1;
            }
            int is_object = decoder->open[decoder->depth - 1] < 0;
            if (*decoder->at == (is_object ? '}' : ']')) {
                if (decode_close(decoder) < 0)
                    return -1;
                opened = 0;
                continue;
            }
            if (!opened) {
                if (*decoder->at != ',') {
                    decode_refuse(decoder, "syntax");
                    return -1;
                }
                decoder->at++;
            }
            if (is_object && decode_name(decoder) < 0)
                return -1;
            break;
        }
    }
}

/* Decode `size` bytes, after which a zero byte stands: 0 and *result, 1 and *reason when
 * the line is refused, or -1 with an exception set. */
static int
decode(
    const char *line, Py_ssize_t size, int unique, PyObject **result, const char **reason)
{
    Decoder decoder;
    int collecting = collector_pause();

    decoder.at = (const unsigned char *)line;
    decoder.end = decoder.at + size;
    decoder.reason = NULL;
    decoder.unique = unique;
    decoder.depth = 0;
    decoder.values = decoder.first;
    decoder.used = 0;
    decoder.room = VALUES_FIRST;
    strings_open(&decoder.strings, size);
    int status = decode_line(&decoder);
    if (status == 0)
        *result = decoder.values[--decoder.used];
    while (decoder.used > 0)
        Py_DECREF(decoder.values[--decoder.used]);
    if (decoder.values != decoder.first)
        PyMem_Free(decoder.values);
    strings_close(&decoder.strings);
    collector_resume(collecting);
    if (status == 0 || decoder.reason == NULL)
        return status;
    /* Malformed UTF-8 anywhere in the line wins over everything else. Where a line is
     * accepted, every byte from 0x80 on was in a string that has been decoded. */
    *reason = decoder.reason;
    if (!utf8_is_valid((const unsigned char *)line, (const unsigned char *)line + size))
        *reason = "utf8";
    return 1;
}

#endif
