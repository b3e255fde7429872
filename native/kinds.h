/* The exact types of the profile, told apart by the object's real type. */
#ifndef LEDGENCE_KINDS_H
#define LEDGENCE_KINDS_H

#include <Python.h>

enum {
    KIND_TEXT,
    KIND_INTEGER,
    KIND_DICT,
    KIND_LIST,
    KIND_FLOAT,
    KIND_NULL,
    KIND_TRUE,
    KIND_FALSE,
    KIND_TUPLE,
    KIND_OTHER, /* instances of subclasses included */
};

/* The most frequent kinds first. */
static inline int
kind_of(PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);

    if (type == &PyUnicode_Type)
        return KIND_TEXT;
    if (type == &PyLong_Type)
        return KIND_INTEGER;
    if (type == &PyDict_Type)
        return KIND_DICT;
    if (type == &PyList_Type)
        return KIND_LIST;
    if (type == &PyFloat_Type)
        return KIND_FLOAT;
    if (value == Py_None)
        return KIND_NULL;
    if (value == Py_True)
        return KIND_TRUE;
    if (value == Py_False)
        return KIND_FALSE;
    if (type == &PyTuple_Type)
        return KIND_TUPLE;
    return KIND_OTHER;
}

#endif
