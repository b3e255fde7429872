/* One growing buffer that ends as a bytes object.
 *
 * Writing begins in a scratch area that is kept for ever, so that ordinary results need
 * one allocation of the right size and no fresh pages. What outgrows it is written into a
 * bytes object that is cut to size at the end. The room never grows much past `ceiling`,
 * the size that no accepted result exceeds: output_grow refuses as soon as more than that
 * has been written.
 */
#ifndef LEDGENCE_OUTPUT_H
#define LEDGENCE_OUTPUT_H

#include <Python.h>
#include <string.h>

#define OUTPUT_SCRATCH (1 << 18)
#define OUTPUT_SMALL 512

/* The interpreter lock guards both; user code that a walk calls may find it taken. */
static char output_scratch[OUTPUT_SCRATCH];
static int output_scratch_taken = 0;

/* What the writers return besides a length or 0. */
#define WRITE_FAILED (-1)    /* a Python exception is set */
#define WRITE_SURROGATE (-2) /* a code point U+D800 to U+DFFF */
#define WRITE_OVER (-3)      /* more than `ceiling` bytes */

typedef struct {
    char *at;  /* where the next byte goes */
    char *end; /* end of the room */
    char *start;
    PyObject *bytes; /* owns the room when it is neither the scratch area nor `small` */
    int scratch;     /* this buffer has taken the scratch area */
    Py_ssize_t ceiling;
    char small[OUTPUT_SMALL];
} Output;

static inline void
output_open(Output *out, Py_ssize_t ceiling)
{
    out->scratch = !output_scratch_taken;
    out->start = out->small;
    out->end = out->small + OUTPUT_SMALL;
    if (out->scratch) {
        output_scratch_taken = 1;
        out->start = output_scratch;
        out->end = output_scratch + OUTPUT_SCRATCH;
    }
    out->at = out->start;
    out->bytes = NULL;
    out->ceiling = ceiling;
}

static inline Py_ssize_t
output_size(const Output *out)
{
    return out->at - out->start;
}

static inline void
output_drop(Output *out)
{
    if (out->scratch)
        output_scratch_taken = 0;
    out->scratch = 0;
    Py_CLEAR(out->bytes);
}

static int
output_grow(Output *out, Py_ssize_t more)
{
    Py_ssize_t used = output_size(out);
    Py_ssize_t room = 2 * (out->end - out->start);

    if (used > out->ceiling)
        return WRITE_OVER;
    if (room - used > more && room - more > out->ceiling)
        room = out->ceiling + more;
    if (room < used + more)
        room = used + more;
    if (out->bytes != NULL) {
        if (_PyBytes_Resize(&out->bytes, room) < 0)
            return WRITE_FAILED;
    }
    else {
        out->bytes = PyBytes_FromStringAndSize(NULL, room);
        if (out->bytes == NULL)
            return WRITE_FAILED;
        memcpy(PyBytes_AS_STRING(out->bytes), out->start, (size_t)used);
    }
    out->start = PyBytes_AS_STRING(out->bytes);
    out->at = out->start + used;
    out->end = out->start + room;
    return 0;
}

/* Make room for `more` bytes: 0, WRITE_OVER or WRITE_FAILED. */
static inline int
output_room(Output *out, Py_ssize_t more)
{
    if (__builtin_expect(out->end - out->at >= more, 1))
        return 0;
    return output_grow(out, more);
}

/* The bytes written, to be taken once. NULL with an exception set. */
static inline PyObject *
output_take(Output *out)
{
    Py_ssize_t used = output_size(out);
    PyObject *bytes = out->bytes;

    if (bytes == NULL)
        return PyBytes_FromStringAndSize(out->start, used);
    out->bytes = NULL;
    _PyBytes_Resize(&bytes, used); /* leaves NULL behind when it fails */
    return bytes;
}

#endif
