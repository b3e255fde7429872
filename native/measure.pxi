# check: the size of the canonical bytes in one walk in the order of section 2.2.
#
# It is also how the other walks over exact types find out why they stopped. The path is
# collected on the way out of a refusal, from the inside out.


cdef object measured(object value, object limit, object max_depth, bint received):
    cdef Walk walk
    cdef Py_ssize_t most = limit_of(limit)
    cdef list parts = []
    walk_open(&walk, most, depth_of(max_depth), received)
    if measure_value(&walk, value, 0, parts) != OK:
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


cdef int measure_value(Walk *walk, object value, int depth, list parts) except -1:
    cdef int status = charge_node(walk, value)
    if status != CONTAINER:
        return status
    if enter(walk, <PyObject *>value, depth) != OK:
        return TROUBLE
    if PyDict_CheckExact(value):
        return measure_dict(walk, value, depth, parts)
    if PyList_CheckExact(value):
        return measure_list(walk, value, depth, parts)
    return measure_tuple(walk, value, depth, parts)


cdef inline Py_ssize_t array_marks(Py_ssize_t count) noexcept:
    """The bytes of the brackets and commas of an array."""
    return count + 1 if count else 2


cdef int measure_list(Walk *walk, object value, int depth, list parts) except -1:
    cdef Py_ssize_t i, count = PyList_GET_SIZE(value)
    walk.size += array_marks(count)
    for i in range(count):
        if measure_value(
            walk, <object>PyList_GET_ITEM(value, i), depth + 1, parts
        ) != OK:
            parts.append(i)
            return TROUBLE
    return OK


cdef int measure_tuple(Walk *walk, object value, int depth, list parts) except -1:
    cdef Py_ssize_t i, count = PyTuple_GET_SIZE(value)
    walk.size += array_marks(count)
    for i in range(count):
        if measure_value(
            walk, <object>PyTuple_GET_ITEM(value, i), depth + 1, parts
        ) != OK:
            parts.append(i)
            return TROUBLE
    return OK


cdef int measure_dict(Walk *walk, object value, int depth, list parts) except -1:
    cdef Py_ssize_t position = 0, count = PyDict_Size(value)
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
        if measure_value(walk, <object>item, depth + 1, parts) != OK:
            parts.append(<object>name)
            return TROUBLE
    return OK
