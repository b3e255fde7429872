# check_wire, encode_frame, fit_error: the wire rules of section 7.
#
# Where all types are exact, the wire rules are those of section 2.2 and the walks over
# exact types serve. Only where these meet trouble, which an instance of a subclass is to
# them, and before any user code has been called, this walk begins.
#
# It goes in the order of iteration and cannot be repeated, because it may call user code
# (items() and iterators of subclasses). So it finds the reason itself; the path is
# collected on the way out. User code may also change any container that is open: every
# child is held by a strong reference and every size is read again at each step.


cdef int wire_checked(object value, object max_depth) except -1:
    cdef Walk walk
    cdef int depth = depth_of(max_depth)
    walk_open(&walk, ENDLESS, depth, False)
    walk.tokens = IGNORE
    if measure_value(&walk, <PyObject *>value, 0, []) != OK:
        walk_open(&walk, ENDLESS, depth, False)
        walk.tokens = IGNORE
        wire_or_raise(&walk, value, None, max_depth)
    return 0


cdef int wire_or_raise(
    Walk *walk, object value, object limit, object max_depth
) except -1:
    cdef list parts = []
    if wire_walk(walk, value, parts) != OK:
        raise refusal(walk, parts, limit, max_depth)
    return 0


cdef int wire_walk(Walk *walk, object value, list parts) except -1:
    """The whole walk. Hooks may begin others inside it, as far as the C stack is safe."""
    global walks_open
    if walks_open == MOST_WALKS:
        raise RecursionError("values are encoded inside each other's hooks")
    walks_open += 1
    try:
        return wire_value(walk, value, 0, parts)
    finally:
        walks_open -= 1


cdef bytes frame_bytes(object value, object limit, object max_depth):
    cdef Walk walk
    cdef Py_ssize_t most = limit_of(limit), size
    data = quick_bytes(value, limit, max_depth, False, False, True)
    if data is not None:
        return data
    walk_open(&walk, most, depth_of(max_depth), False)
    walk.tokens = WRITE
    output_open(&walk.out, most)
    try:
        wire_or_raise(&walk, value, limit, max_depth)
        size = walk.size if walk.tokens == COUNT else output_size(&walk.out)
        if size + 1 > most:
            raise ProfileError("bytes", "$", limit, size + 1)
        put_char(&walk.out, b"\n")
        return output_take(&walk.out)
    finally:
        output_drop(&walk.out)


cdef inline int put_token(Output *out, const char *token, Py_ssize_t size) noexcept:
    memcpy(out.at, token, size)
    out.at += size
    return OK


cdef inline int put_char(Output *out, char byte) noexcept:
    out.at[0] = byte
    out.at += 1
    return OK


cdef int stop_writing(Walk *walk, Py_ssize_t written) noexcept:
    """Drop what was written, which is too much, and count on from there."""
    walk.tokens = COUNT
    walk.size = written
    output_drop(&walk.out)
    return OK


cdef inline int wire_char(Walk *walk, char byte) noexcept:
    if walk.tokens == WRITE:
        return put_char(&walk.out, byte)
    walk.size += 1
    return OK


cdef inline int wire_end(Walk *walk, char bracket) except -1:
    """Turn the comma after the last child into the closing bracket."""
    if walk.tokens == WRITE:
        (walk.out.at - 1)[0] = bracket
        if output_room(&walk.out, 1) != 0:
            stop_writing(walk, output_size(&walk.out))
    return OK


cdef inline int wire_token(Walk *walk, const char *token, Py_ssize_t size) noexcept:
    if walk.tokens == WRITE:
        return put_token(&walk.out, token, size)
    walk.size += size
    return OK


cdef int wire_text(Walk *walk, object text) except -1:
    cdef Py_ssize_t utf8 = 0, written
    cdef int status
    if walk.tokens == WRITE:
        if text_length(text) > walk.remaining:
            return trouble(walk, b"bytes")
        written = output_size(&walk.out)
        status = text_put(&walk.out, text, &utf8)
        if status == WRITE_SURROGATE:
            return trouble(walk, b"surrogate")
        if status != WRITE_OVER:
            walk.remaining -= utf8
            return trouble(walk, b"bytes") if walk.remaining < 0 else OK
        stop_writing(walk, written)
    return charge_text(walk, text)


cdef int wire_integer(Walk *walk, object value) noexcept:
    cdef Integer integer
    if not integer_read(value, &integer):
        return trouble(walk, b"int_range")
    if walk.tokens == WRITE:
        walk.out.at = integer_put(walk.out.at, &integer)
    else:
        walk.size += integer_length(&integer)
    return OK


cdef int wire_float(Walk *walk, double value) noexcept:
    if not isfinite(value):
        return trouble(walk, b"non_finite")
    if walk.tokens == WRITE:
        walk.out.at = double_put(walk.out.at, value)
    elif walk.tokens == COUNT:
        walk.size += double_length(value)
    return OK


cdef int wire_value(Walk *walk, object value, int depth, list parts) except -1:
    walk.remaining -= 1
    if walk.remaining < 0:
        return trouble(walk, b"bytes")
    if PyUnicode_Check(value):
        return wire_text(walk, value)
    if walk.tokens == WRITE and output_room(&walk.out, DOUBLE_ROOM) != 0:
        stop_writing(walk, output_size(&walk.out))
    if value is None:
        return wire_token(walk, b"null", 4)
    if value is True:
        return wire_token(walk, b"true", 4)
    if value is False:
        return wire_token(walk, b"false", 5)
    if PyLong_Check(value):
        return wire_integer(walk, value)
    if PyFloat_Check(value):
        return wire_float(walk, PyFloat_AS_DOUBLE(value))
    if PyDict_Check(value):
        if enter(walk, <PyObject *>value, depth) != OK:
            return TROUBLE
        if PyDict_CheckExact(value):
            return wire_dict(walk, value, depth, parts)
        return wire_items(walk, value, depth, parts)
    if PyList_Check(value) or PyTuple_Check(value):
        if enter(walk, <PyObject *>value, depth) != OK:
            return TROUBLE
        if PyList_CheckExact(value):
            return wire_list(walk, value, depth, parts)
        return wire_iterator(walk, value, depth, parts)
    return trouble(walk, b"type")


cdef int wire_list(Walk *walk, object value, int depth, list parts) except -1:
    cdef Py_ssize_t i = 0, count = PyList_GET_SIZE(value)
    if count == 0:
        return wire_token(walk, b"[]", 2)
    wire_char(walk, b"[")
    # Never more items than there were, so that a hook that appends cannot go on for ever.
    while i < count and i < PyList_GET_SIZE(value):
        item = <object>PyList_GET_ITEM(value, i)
        if wire_value(walk, item, depth + 1, parts) != OK:
            parts.append(i)
            return TROUBLE
        wire_char(walk, b",")
        i += 1
    return wire_end(walk, b"]")


cdef int wire_iterator(Walk *walk, object value, int depth, list parts) except -1:
    """A tuple, or an instance of a subclass of list or tuple."""
    cdef Py_ssize_t i = 0
    wire_char(walk, b"[")
    for item in value:
        if wire_value(walk, item, depth + 1, parts) != OK:
            parts.append(i)
            return TROUBLE
        wire_char(walk, b",")
        i += 1
    if i == 0:
        return wire_char(walk, b"]")
    return wire_end(walk, b"]")


cdef int wire_member(
    Walk *walk, object name, object item, int depth, list parts
) except -1:
    if not PyUnicode_Check(name):
        return trouble(walk, b"key_type")
    walk.remaining -= 1
    if walk.remaining < 0:
        return trouble(walk, b"bytes")
    if wire_text(walk, name) != OK:
        return TROUBLE
    wire_char(walk, b":")
    if wire_value(walk, item, depth + 1, parts) != OK:
        parts.append(name)
        return TROUBLE
    wire_char(walk, b",")
    return OK


cdef int wire_dict(Walk *walk, object value, int depth, list parts) except -1:
    cdef Py_ssize_t position = 0, left = PyDict_GET_SIZE(value)
    cdef Py_ssize_t size = left
    cdef PyObject *name_seen
    cdef PyObject *item_seen
    if size == 0:
        return wire_token(walk, b"{}", 2)
    wire_char(walk, b"{")
    # The same promises as a for loop over a dict that a hook below changes.
    while PyDict_Next(value, &position, &name_seen, &item_seen):
        name = <object>name_seen
        item = <object>item_seen
        if left == 0:
            raise RuntimeError("dictionary keys changed during iteration")
        left -= 1
        if wire_member(walk, name, item, depth, parts) != OK:
            return TROUBLE
        if PyDict_GET_SIZE(value) != size:
            raise RuntimeError("dictionary changed size during iteration")
    return wire_end(walk, b"}")


cdef int wire_items(Walk *walk, object value, int depth, list parts) except -1:
    """An instance of a subclass of dict, through its own items()."""
    cdef bint empty = True
    wire_char(walk, b"{")
    for pair in value.items():
        name, item = pair
        empty = False
        if wire_member(walk, name, item, depth, parts) != OK:
            return TROUBLE
    if empty:
        return wire_char(walk, b"}")
    return wire_end(walk, b"}")


# For the path of a first walk, which nobody asks for; it calls no Python code.
cdef list _nowhere = []


cdef dict fitted(
    object envelope, object kind, object message, object limit, object status
):
    cdef Py_ssize_t room
    cdef dict failure = {"kind": kind, "message": ""}
    cdef dict frame = {**envelope, "status": status, "error": failure}
    room = room_beside(frame, limit)
    failure["message"] = fitting(message, room)
    return frame


cdef Py_ssize_t room_beside(dict frame, object limit) except -1:
    """How many bytes of the limit a frame and its newline leave."""
    cdef Walk walk
    cdef Py_ssize_t most = limit_of(limit)
    cdef list parts = _nowhere
    walk_open(&walk, most, FRAME_DEPTH, False)
    if measure_value(&walk, <PyObject *>frame, 0, parts) != OK:
        parts.clear()
        parts = []
        walk_open(&walk, most, FRAME_DEPTH, False)
        if wire_walk(&walk, frame, parts) != OK:
            if walk.reason == b"bytes":
                parts.clear() # section 1: the bytes of fit_error are at $
            raise refusal(&walk, parts, limit, FRAME_DEPTH)
    walk.size += 1
    if walk.size > most:
        raise ProfileError("bytes", "$", limit, walk.size)
    return most - walk.size


cdef str fitting(object message, Py_ssize_t room):
    """The longest prefix that needs no more room, surrogates replaced (section 8)."""
    cdef Py_ssize_t utf8 = 0, extra = 0
    if not PyUnicode_Check(message):
        raise TypeError(f"message must be a str, got {type(message).__name__}")
    text = PyUnicode_Substring(
        message, 0, text_fit(message, MESSAGE_CODE_POINTS, room)
    )
    if text_measure(text, &utf8, &extra) == WRITE_SURROGATE:
        return (<str>text).encode("utf-8", "replace").decode("utf-8")
    return text
