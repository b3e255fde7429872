/* Integers: their range is compared, never printed first (json-profile.md, 2.2). */
#ifndef LEDGENCE_NUMBER_H
#define LEDGENCE_NUMBER_H

#include <Python.h>
#include <stdint.h>

#include "digits.h"

typedef struct {
    uint64_t magnitude;
    int negative;
} Integer;

/* Read an int, or an instance of a subclass, from its own storage: 1, or 0 when it is
 * outside -2**63 to 2**64-1. No exception stays set. */
static inline int
integer_read(PyObject *object, Integer *integer)
{
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(object, &overflow);

    if (__builtin_expect(overflow == 0, 1)) {
        integer->negative = value < 0;
        integer->magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
        return 1;
    }
    if (overflow < 0)
        return 0;
    integer->negative = 0;
    integer->magnitude = PyLong_AsUnsignedLongLong(object);
    if (integer->magnitude == (uint64_t)-1 && PyErr_Occurred()) {
        PyErr_Clear(); /* OverflowError */
        return 0;
    }
    return 1;
}

static inline Py_ssize_t
integer_length(const Integer *integer)
{
    return integer->negative + digit_count(integer->magnitude);
}

/* INTEGER_ROOM bytes of room. */
static inline char *
integer_put(char *at, const Integer *integer)
{
    *at = '-';
    return unsigned_put(at + integer->negative, integer->magnitude);
}

#endif
