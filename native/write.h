/* Exact types only, written in one walk: encode, and encode_frame for most frames.
 *
 * The walk stops at the first trouble of any kind and does not say which: another walk, in
 * the order of section 2.2 of json-profile.md, finds the reason (section 2.4). No test for
 * cycles either: a cycle runs into max_depth or out of budget.
 *
 * Nothing here can run Python code (no instance of a subclass is entered, no container is
 * made), so the value cannot change under the walk and borrowed references stay alive.
 *
 * Scalars are written inside the loop over their container; only containers recurse.
 */
#ifndef LEDGENCE_WRITE_H
#define LEDGENCE_WRITE_H

#include <Python.h>
#include <math.h>

#include "kinds.h"
#include "members.h"
#include "number.h"
#include "output.h"
#include "repeats.h"
#include "shortest.h"
#include "text.h"

#define WRITE_TROUBLE 1

typedef struct {
    Output out; /* its ceiling rises by the allowance of section 4 */
    Py_ssize_t remaining;
    int max_depth;
    int received;
    int ordered; /* members in the order of their names, else as iterated */
    Members members;
    Repeats repeats;
} Writer;

static int write_container(Writer *, PyObject *, int, int);

/* All writers return 0, WRITE_TROUBLE, or WRITE_FAILED with an exception set. They leave
 * one byte of room for the comma, colon or bracket that follows. */

static inline int
write_status(int status)
{
    return status == WRITE_FAILED ? WRITE_FAILED : WRITE_TROUBLE;
}

static inline int
write_text(Writer *writer, PyObject *text)
{
    Py_ssize_t utf8, length = text_length(text);

    if (length < 0)
        return WRITE_FAILED;
    if (length > writer->remaining)
        return WRITE_TROUBLE;
    int status = repeats_put(&writer->repeats, &writer->out, text, &utf8);
    if (status != 0)
        return write_status(status);
    writer->remaining -= utf8;
    return writer->remaining < 0 ? WRITE_TROUBLE : 0;
}

static inline int
write_token(Output *out, const char *token, size_t size)
{
    memcpy(out->at, token, size);
    out->at += size;
    return 0;
}

static inline __attribute__((always_inline)) int
write_value(Writer *writer, PyObject *value, int depth)
{
    Output *out = &writer->out;
    Integer integer;
    char *begin;
    int kind = kind_of(value);

    if (--writer->remaining < 0)
        return WRITE_TROUBLE;
    if (kind == KIND_TEXT)
        return write_text(writer, value);
    int status = output_room(out, DOUBLE_ROOM);
    if (status < 0)
        return write_status(status);
    switch (kind) {
    case KIND_INTEGER:
        if (!integer_read(value, &integer))
            return WRITE_TROUBLE;
        out->at = integer_put(out->at, &integer);
        return 0;
    case KIND_FLOAT:
        if (!isfinite(PyFloat_AS_DOUBLE(value)))
            return WRITE_TROUBLE;
        begin = out->at;
        out->at = double_put(begin, PyFloat_AS_DOUBLE(value));
        if (writer->received && out->at - begin > 3)
            out->ceiling += out->at - begin - 3;
        return 0;
    case KIND_NULL:
        return write_token(out, "null", 4);
    case KIND_TRUE:
        return write_token(out, "true", 4);
    case KIND_FALSE:
        return write_token(out, "false", 5);
    case KIND_OTHER:
        return WRITE_TROUBLE;
    default:
        return write_container(writer, value, kind, depth);
    }
}

static inline int
write_items(Writer *writer, PyObject **items, Py_ssize_t count, int depth)
{
    *writer->out.at++ = '[';
    for (Py_ssize_t i = 0; i < count; i++) {
        int status = write_value(writer, items[i], depth);
        if (status != 0)
            return status;
        *writer->out.at++ = ',';
    }
    writer->out.at[-1] = ']';
    return 0;
}

static inline int
write_member(Writer *writer, PyObject *name, PyObject *value, int depth)
{
    int status;

    writer->remaining--;
    if ((status = write_text(writer, name)) != 0)
        return status;
    *writer->out.at++ = ':';
    if ((status = write_value(writer, value, depth)) != 0)
        return status;
    *writer->out.at++ = ',';
    return 0;
}

static inline int
write_ordered(Writer *writer, PyObject *dict, int depth)
{
    Members *members = &writer->members;
    Py_ssize_t first = members->used;
    int status = members_of(members, dict);

    if (status == MEMBERS_ODD)
        return WRITE_TROUBLE;
    if (status == MEMBERS_FAILED)
        return WRITE_FAILED;
    for (Py_ssize_t i = first; i < members->used; i++) {
        /* The array may move while the value is written. */
        Member member = members->items[i];
        if ((status = write_member(writer, member.name, member.value, depth)) != 0)
            return status;
    }
    members->used = first;
    return 0;
}

static inline int
write_iterated(Writer *writer, PyObject *dict, int depth)
{
    Py_ssize_t position = 0;
    PyObject *name, *value;

    while (PyDict_Next(dict, &position, &name, &value)) {
        if (!PyUnicode_CheckExact(name))
            return WRITE_TROUBLE;
        int status = write_member(writer, name, value, depth);
        if (status != 0)
            return status;
    }
    return 0;
}

static inline int
write_dict(Writer *writer, PyObject *dict, int depth)
{
    *writer->out.at++ = '{';
    int status = writer->ordered ? write_ordered(writer, dict, depth)
                                 : write_iterated(writer, dict, depth);
    if (status == 0)
        writer->out.at[-1] = '}';
    return status;
}

static __attribute__((noinline)) int
write_container(Writer *writer, PyObject *value, int kind, int depth)
{
    Py_ssize_t count = kind == KIND_DICT ? PyDict_GET_SIZE(value) : Py_SIZE(value);
    int status;

    if (depth >= writer->max_depth)
        return WRITE_TROUBLE;
    if (count == 0)
        return write_token(&writer->out, kind == KIND_DICT ? "{}" : "[]", 2);
    /* Each child costs at least 1: no room is taken for members beyond the budget. */
    if (count > writer->remaining)
        return WRITE_TROUBLE;
    if (kind == KIND_DICT)
        status = write_dict(writer, value, depth + 1);
    else if (kind == KIND_LIST)
        status = write_items(writer, ((PyListObject *)value)->ob_item, count, depth + 1);
    else
        status = write_items(writer, ((PyTupleObject *)value)->ob_item, count, depth + 1);
    if (status != 0)
        return status;
    status = output_room(&writer->out, 1);
    return status < 0 ? write_status(status) : 0;
}

/* Write a value, and a newline where one is wanted: 0, WRITE_TROUBLE or WRITE_FAILED.
 * output_take gives the bytes; write_close is needed in any case. */
static inline int
write_whole(Writer *writer, PyObject *value, int newline)
{
    int status = write_value(writer, value, 0);

    if (status == 0 && output_size(&writer->out) + newline > writer->out.ceiling)
        status = WRITE_TROUBLE;
    if (status == 0 && newline)
        *writer->out.at++ = '\n';
    return status;
}

static inline void
write_open(Writer *writer, Py_ssize_t limit, int max_depth, int received, int ordered)
{
    writer->remaining = limit;
    writer->max_depth = max_depth;
    writer->received = received;
    writer->ordered = ordered;
    output_open(&writer->out, limit);
    members_open(&writer->members);
    repeats_open(&writer->repeats);
}

static inline void
write_close(Writer *writer)
{
    members_close(&writer->members);
    output_drop(&writer->out);
}

#endif
