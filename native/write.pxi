# encode: the canonical bytes in one walk, members in sorted order.
#
# It stops at the first trouble of any kind and does not say which: the walk of
# measure.pxi, in the order of section 2.2, finds the reason (section 2.4). No test for
# cycles either: a cycle runs into max_depth or out of budget.
#
# Only exact types are entered and nothing that could run Python code is allocated, so
# the value cannot change under the walk and borrowed members stay alive.


cdef bytes encode_bytes(object value, object limit, object max_depth, bint received):
    cdef Walk walk
    cdef Py_ssize_t size = limit_of(limit)
    walk_open(&walk, size, depth_of(max_depth), received)
    output_open(&walk.out, size)
    members_open(&walk.members)
    try:
        if (
            write_value(&walk, value, 0) == OK
            and output_size(&walk.out) <= walk.out.ceiling
        ):
            return output_take(&walk.out)
    finally:
        members_close(&walk.members)
        output_drop(&walk.out)
    measured(value, limit, max_depth, received)
    raise changed()


cdef object changed():
    """The error for a value of which one walk refused what another one accepts."""
    return RuntimeError("the value changed while it was read")


cdef int write_value(Walk *walk, object value, int depth) except -1:
    cdef Output *out = &walk.out
    walk.remaining -= 1
    if walk.remaining < 0:
        return TROUBLE
    if PyUnicode_CheckExact(value):
        return write_text(walk, value)
    if output_room(out, DOUBLE_ROOM) != 0:
        return TROUBLE
    if PyLong_CheckExact(value):
        return write_integer(out, value)
    if PyDict_CheckExact(value):
        return TROUBLE if depth >= walk.max_depth else write_dict(walk, value, depth)
    if PyList_CheckExact(value):
        return TROUBLE if depth >= walk.max_depth else write_list(walk, value, depth)
    if PyFloat_CheckExact(value):
        return write_float(walk, PyFloat_AS_DOUBLE(value))
    if value is None:
        return write_token(out, b"null", 4)
    if value is True:
        return write_token(out, b"true", 4)
    if value is False:
        return write_token(out, b"false", 5)
    if PyTuple_CheckExact(value):
        return TROUBLE if depth >= walk.max_depth else write_tuple(walk, value, depth)
    return TROUBLE


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


cdef inline int write_text(Walk *walk, object text) except -1:
    cdef Py_ssize_t utf8 = 0
    if text_length(text) > walk.remaining or text_put(&walk.out, text, &utf8) != 0:
        return TROUBLE
    walk.remaining -= utf8
    return TROUBLE if walk.remaining < 0 else OK


cdef inline int write_integer(Output *out, object value) noexcept:
    cdef Integer integer
    if not integer_read(value, &integer):
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
    if count == 0:
        return write_token(&walk.out, b"[]", 2)
    write_char(&walk.out, b"[")
    for i in range(count):
        if write_value(walk, <object>PyList_GET_ITEM(value, i), depth + 1) != OK:
            return TROUBLE
        write_char(&walk.out, b",")
    return write_end(&walk.out, b"]")


cdef int write_tuple(Walk *walk, object value, int depth) except -1:
    cdef Py_ssize_t i, count = PyTuple_GET_SIZE(value)
    if count == 0:
        return write_token(&walk.out, b"[]", 2)
    write_char(&walk.out, b"[")
    for i in range(count):
        if write_value(walk, <object>PyTuple_GET_ITEM(value, i), depth + 1) != OK:
            return TROUBLE
        write_char(&walk.out, b",")
    return write_end(&walk.out, b"]")


cdef int write_dict(Walk *walk, object value, int depth) except -1:
    cdef Py_ssize_t i, first = walk.members.used
    cdef Member *member
    if PyDict_Size(value) == 0:
        return write_token(&walk.out, b"{}", 2)
    # Each member costs at least 2: no room is taken for members beyond the budget.
    if PyDict_Size(value) > walk.remaining:
        return TROUBLE
    if members_of(&walk.members, value) == MEMBERS_ODD:
        return TROUBLE
    write_char(&walk.out, b"{")
    for i in range(first, walk.members.used):
        member = &walk.members.items[i]
        walk.remaining -= 1
        if write_text(walk, <object>member.name) != OK:
            return TROUBLE
        write_char(&walk.out, b":")
        if write_value(walk, <object>member.value, depth + 1) != OK:
            return TROUBLE
        write_char(&walk.out, b",")
    walk.members.used = first
    return write_end(&walk.out, b"}")
