# What the walks share: opening, refusing, and the charge of one node.

cdef object _spell = None
cdef object _sha256 = None


cdef Py_ssize_t limit_of(object limit) except? -1:
    """The limit as a C number; larger ones mean the same as ENDLESS."""
    if not PyLong_Check(limit):
        raise TypeError(f"limit must be an int, got {type(limit).__name__}")
    if limit < 0:
        return -1
    return min(limit, ENDLESS)


cdef int depth_of(object max_depth) except -1:
    if not PyLong_Check(max_depth):
        raise TypeError(f"max_depth must be an int, got {type(max_depth).__name__}")
    if not 0 <= max_depth <= MOST_DEPTH:
        raise ValueError(f"max_depth must be from 0 to {MOST_DEPTH}, got {max_depth}")
    return max_depth


cdef void walk_open(Walk *walk, Py_ssize_t limit, int depth, bint received) noexcept:
    walk.remaining = limit
    walk.size = 0
    walk.allowance = 0
    walk.max_depth = depth
    walk.received = received
    walk.tokens = COUNT
    walk.reason = NULL


cdef int trouble(Walk *walk, const char *reason) noexcept:
    walk.reason = reason
    return TROUBLE


cdef str path_of(list parts):
    """The spelling of a path whose parts were collected from the inside out."""
    global _spell
    if _spell is None:
        # Only a refusal needs it: the start-up of a runner does not.
        from ledgence.worker._profile_path import spell
        _spell = spell
    return _spell(reversed(parts))


cdef object refusal(Walk *walk, list parts, object limit, object max_depth):
    """The error for a walk that ended in TROUBLE."""
    cdef str reason = walk.reason.decode("ascii")
    if reason == "bytes":
        return ProfileError(reason, path_of(parts), limit)
    if reason == "depth":
        return ProfileError(reason, path_of(parts), max_depth)
    return ProfileError(reason, path_of(parts))


cdef str sha256_hex(bytes data):
    global _sha256
    if _sha256 is None:
        _sha256 = find_sha256()
    return _sha256(data).hexdigest()


cdef object find_sha256():
    """The interpreter's own SHA-256, without loading the ``hashlib`` module.

    Its name belongs to programs until a handler is resolved (runner-protocol.md, 3.2).
    """
    try:
        from _sha2 import sha256
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256
    return sha256


cdef int charge_text(Walk *walk, object text) except -1:
    """The string rule of section 2.2; adds the quoted text to the size."""
    cdef Py_ssize_t utf8 = 0, extra = 0
    if text_length(text) > walk.remaining:
        return trouble(walk, b"bytes")
    if text_measure(text, &utf8, &extra) == WRITE_SURROGATE:
        return trouble(walk, b"surrogate")
    walk.size += utf8 + extra + 2
    walk.remaining -= utf8
    return trouble(walk, b"bytes") if walk.remaining < 0 else OK


cdef inline Py_ssize_t double_length(double value) noexcept:
    cdef char text[DOUBLE_ROOM]
    return double_put(text, value) - text


cdef int charge_float(Walk *walk, double value) noexcept:
    cdef Py_ssize_t length
    if not isfinite(value):
        return trouble(walk, b"non_finite")
    if walk.tokens == IGNORE:
        return OK
    length = double_length(value)
    walk.size += length
    if walk.received and length > 3:
        walk.allowance += length - 3
    return OK


cdef inline int charge_node(Walk *walk, PyObject *value, int kind) except -1:
    """Steps 1 to 6 of section 2.2; CONTAINER where step 7 is next."""
    cdef Integer integer
    walk.remaining -= 1
    if walk.remaining < 0:
        return trouble(walk, b"bytes")
    if kind == KIND_TEXT:
        return charge_text(walk, <object>value)
    if kind == KIND_INTEGER:
        if not integer_read(<object>value, &integer):
            return trouble(walk, b"int_range")
        walk.size += integer_length(&integer)
        return OK
    if kind == KIND_DICT or kind == KIND_LIST or kind == KIND_TUPLE:
        return CONTAINER
    if kind == KIND_FLOAT:
        return charge_float(walk, PyFloat_AS_DOUBLE(<object>value))
    if kind == KIND_OTHER:
        return trouble(walk, b"type")
    walk.size += 5 if kind == KIND_FALSE else 4
    return OK


cdef object decoded(object line, bint unique):
    cdef PyObject *result = NULL
    cdef const char *reason = NULL
    if not PyBytes_CheckExact(line):
        line = bytes(memoryview(line))
    if decode(
        PyBytes_AS_STRING(line), PyBytes_GET_SIZE(line), unique, &result, &reason
    ) == 0:
        value = <object>result
        Py_DECREF(value) # the cast has taken a reference of its own
        return value
    if reason == b"depth":
        raise ProfileError("depth", None, DECODE_DEPTH)
    raise ProfileError(reason.decode("ascii"))
