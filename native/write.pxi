# encode, and encode_frame for frames of exact types: the walk itself is in write.h.


cdef bytes encode_bytes(object value, object limit, object max_depth, bint received):
    data = quick_bytes(value, limit, max_depth, received, True, False)
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
    bint newline,
):
    """The text of a value with which nothing is wrong, else None."""
    cdef Writer writer
    write_open(&writer, limit_of(limit), depth_of(max_depth), received, ordered)
    try:
        if write_whole(&writer, value, newline) != OK:
            return None
        return output_take(&writer.out)
    finally:
        write_close(&writer)


cdef object changed():
    """The error for a value of which one walk refused what another one accepts."""
    return RuntimeError("the value changed while it was read")
