# Exact types only, written in one walk: encode, and encode_frame for most frames.
#
# It stops at the first trouble of any kind and does not say which: another walk, in the
# order of section 2.2, finds the reason (section 2.4). No test for cycles either: a
# cycle runs into max_depth or out of budget.
#
# Nothing here can run Python code (no instance of a subclass is entered, no container is
# made), so the value cannot change under the walk and borrowed references stay alive.


cdef bytes encode_bytes(object value, object limit, object max_depth, bint received):
    data = quick_bytes(value, limit, max_depth, received, True, 0)
    if data is None:
        measured(value, limit, max_depth, received)
        raise changed()
    return data


cdef bytes quick_bytes(
    object value,
    object limit,
    object max_depth,
    bint received,
    bint ordered,
    Py_ssize_t newline,
):
    """The text of a value with which nothing is wrong, else None."""
    cdef Walk walk
    cdef Py_ssize_t most = limit_of(limit)
    walk_open(&walk, most, depth_of(max_depth), received)
    walk.ordered = ordered
    output_open(&walk.out, most)
    members_open(&walk.members)
    try:
        if (
            write_value(&walk, <PyObject *>value, 0) != OK
            or output_size(&walk.out) + newline > walk.out.ceiling
        ):
            return None
        if newline:
            write_char(&walk.out, b"\n")
        return output_take(&walk.out)
    finally:
        members_close(&walk.members)
        output_drop(&walk.out)


cdef object changed():
    """The error for a value of which one walk refused what another one accepts."""
    return RuntimeError("the value changed while it was read")


cdef inline int write_value(Walk *walk, PyObject *value, int depth) except -1:
    cdef int kind = kind_of(value)
    walk.remaining -= 1
    if walk.remaining < 0:
        return TROUBLE
    if kind == KIND_TEXT:
        return write_text(walk, value)
    if output_room(&walk.out, DOUBLE_ROOM) != 0:
        return TROUBLE
    if kind == KIND_INTEGER:
        return write_integer(&walk.out, value)
    if kind == KIND_DICT or kind == KIND_LIST or kind == KIND_TUPLE:
        return write_container(walk, value, kind, depth)
    if kind == KIND_FLOAT:
        return write_float(walk, PyFloat_AS_DOUBLE(<object>value))
    if kind == KIND_NULL:
        return write_token(&walk.out, b"null", 4)
    if kind == KIND_TRUE:
        return write_token(&walk.out, b"true", 4)
    if kind == KIND_FALSE:
        return write_token(&walk.out, b"false", 5)
    return TROUBLE


cdef int write_container(Walk *walk, PyObject *value, int kind, int depth) except -1:
    if depth >= walk.max_depth:
        return TROUBLE
    if kind == KIND_DICT:
        return write_dict(walk, <object>value, depth + 1)
    if kind == KIND_LIST:
        return write_list(walk, <object>value, depth + 1)
    return write_tuple(walk, <object>value, depth + 1)


# The writers below need DOUBLE_ROOM bytes of room, or make it, and leave at least one
# byte for the comma, colon or bracket that follows.

cdef inline int write_token(Output *out, const char *token, Py_ssize_t size) noexcept:
    memcpy(out.at, token, size)
    out.at += size
    return OK


cdef inline int write_char(Output *out, char byte) noexcept:
    out.at[0] = byte
    out.at += 1
    return OK


cdef inline int write_text(Walk *walk, PyObject *text) except -1:
    cdef Py_ssize_t utf8 = 0
    if text_length(<object>text) > walk.remaining:
        return TROUBLE
    if text_put(&walk.out, <object>text, &utf8) != 0:
        return TROUBLE
    walk.remaining -= utf8
    return TROUBLE if walk.remaining < 0 else OK


cdef inline int write_integer(Output *out, PyObject *value) noexcept:
    cdef Integer integer
    if not integer_read(<object>value, &integer):
        return TROUBLE
    out.at = integer_put(out.at, &integer)
    return OK


cdef inline int write_float(Walk *walk, double value) noexcept:
    cdef char *begin = walk.out.at
    if not isfinite(value):
        return TROUBLE
    walk.out.at = double_put(begin, value)
    if walk.received and walk.out.at - begin > 3:
        walk.out.ceiling += walk.out.at - begin - 3
    return OK


cdef inline int write_end(Output *out, char bracket) except -1:
    """Turn the comma after the last child into the closing bracket."""
    (out.at - 1)[0] = bracket
    return TROUBLE if output_room(out, 1) != 0 else OK


cdef int write_list(Walk *walk, object value, int depth) except -1:
    cdef Py_ssize_t i, count = PyList_GET_SIZE(value)
    cdef PyObject *item
    if count == 0:
        return write_token(&walk.out, b"[]", 2)
    write_char(&walk.out, b"[")
    for i in range(count):
        item = PyList_GET_ITEM(value, i)
        if write_value(walk, item, depth) != OK:
            return TROUBLE
        write_char(&walk.out, b",")
    return write_end(&walk.out, b"]")


cdef int write_tuple(Walk *walk, object value, int depth) except -1:
    cdef Py_ssize_t i, count = PyTuple_GET_SIZE(value)
    cdef PyObject *item
    if count == 0:
        return write_token(&walk.out, b"[]", 2)
    write_char(&walk.out, b"[")
    for i in range(count):
        item = PyTuple_GET_ITEM(value, i)
        if write_value(walk, item, depth) != OK:
            return TROUBLE
        write_char(&walk.out, b",")
    return write_end(&walk.out, b"]")


cdef inline int write_member(
    Walk *walk, PyObject *name, PyObject *value, int depth
) except -1:
    walk.remaining -= 1
    if write_text(walk, name) != OK:
        return TROUBLE
    write_char(&walk.out, b":")
    if write_value(walk, value, depth) != OK:
        return TROUBLE
    return write_char(&walk.out, b",")


cdef int write_dict(Walk *walk, object value, int depth) except -1:
    cdef Py_ssize_t i, first = walk.members.used, position = 0
    cdef PyObject *name
    cdef PyObject *item
    if PyDict_GET_SIZE(value) == 0:
        return write_token(&walk.out, b"{}", 2)
    # Each member costs at least 2: no room is taken for members beyond the budget.
    if PyDict_GET_SIZE(value) > walk.remaining:
        return TROUBLE
    write_char(&walk.out, b"{")
    if not walk.ordered:
        while PyDict_Next(value, &position, &name, &item):
            if not PyUnicode_CheckExact(<object>name):
                return TROUBLE
            if write_member(walk, name, item, depth) != OK:
                return TROUBLE
        return write_end(&walk.out, b"}")
    if members_of(&walk.members, value) == MEMBERS_ODD:
        return TROUBLE
    for i in range(first, walk.members.used):
        name = walk.members.items[i].name
        item = walk.members.items[i].value
        if write_member(walk, name, item, depth) != OK:
            return TROUBLE
    walk.members.used = first
    return write_end(&walk.out, b"}")
