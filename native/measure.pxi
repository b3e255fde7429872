# check: the size of the canonical bytes in one walk in the order of section 2.2.
#
# It is also how the other walks over exact types find out why they stopped. The path is
# collected on the way out of a refusal, from the inside out. As in write.pxi nothing can
# run Python code, so borrowed references stay alive.


cdef object measured(object value, object limit, object max_depth, bint received):
    cdef Walk walk
    cdef Py_ssize_t most = limit_of(limit)
    cdef list parts = []
    walk_open(&walk, most, depth_of(max_depth), received)
    if measure_value(&walk, <PyObject *>value, 0, parts) != OK:
        raise refusal(&walk, parts, limit, max_depth)
    if walk.size > most + walk.allowance:
        raise ProfileError("bytes", "$", limit, walk.size)
    return walk.size


cdef int enter(Walk *walk, PyObject *value, int depth) noexcept:
    """Steps 7 and 8 of section 2.2."""
    cdef int i
    if depth >= walk.max_depth:
        return trouble(walk, b"depth")
    for i in range(depth):
        if walk.open[i] == value:
            return trouble(walk, b"cycle")
    walk.open[depth] = value
    return OK


cdef inline Py_ssize_t array_marks(Py_ssize_t count) noexcept:
    """The bytes of the brackets and commas of an array."""
    return count + 1 if count else 2


cdef inline int measure_value(
    Walk *walk, PyObject *value, int depth, list parts
) except -1:
    cdef int kind = kind_of(value)
    cdef int status = charge_node(walk, value, kind)
    if status != CONTAINER:
        return status
    return measure_container(walk, value, kind, depth, parts)


cdef int measure_container(
    Walk *walk, PyObject *value, int kind, int depth, list parts
) except -1:
    if enter(walk, value, depth) != OK:
        return TROUBLE
    if kind == KIND_DICT:
        return measure_dict(walk, <object>value, depth + 1, parts)
    if kind == KIND_LIST:
        return measure_list(walk, <object>value, depth + 1, parts)
    return measure_tuple(walk, <object>value, depth + 1, parts)


cdef int measure_list(Walk *walk, object value, int depth, list parts) except -1:
    cdef Py_ssize_t i, count = PyList_GET_SIZE(value)
    cdef PyObject *item
    walk.size += array_marks(count)
    for i in range(count):
        item = PyList_GET_ITEM(value, i)
        if measure_value(walk, item, depth, parts) != OK:
            parts.append(i)
            return TROUBLE
    return OK


cdef int measure_tuple(Walk *walk, object value, int depth, list parts) except -1:
    cdef Py_ssize_t i, count = PyTuple_GET_SIZE(value)
    cdef PyObject *item
    walk.size += array_marks(count)
    for i in range(count):
        item = PyTuple_GET_ITEM(value, i)
        if measure_value(walk, item, depth, parts) != OK:
            parts.append(i)
            return TROUBLE
    return OK


cdef int measure_dict(Walk *walk, object value, int depth, list parts) except -1:
    cdef Py_ssize_t position = 0, count = PyDict_GET_SIZE(value)
    cdef PyObject *name
    cdef PyObject *item
    walk.size += array_marks(count) + count
    while PyDict_Next(value, &position, &name, &item):
        if not PyUnicode_CheckExact(<object>name):
            return trouble(walk, b"key_type")
        walk.remaining -= 1
        if walk.remaining < 0:
            return trouble(walk, b"bytes")
        if charge_text(walk, <object>name) != OK:
            return TROUBLE
        if measure_value(walk, item, depth, parts) != OK:
            parts.append(<object>name)
            return TROUBLE
    return OK
