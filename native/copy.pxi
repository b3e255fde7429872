# freeze: a checked deep copy without going through text.
#
# A container is copied as a whole and its container children are replaced by their own
# copies. Like the writing walk it only finds out that there is trouble. The cyclic
# collector is held off meanwhile (it could run a finalizer on CPython 3.11), so no
# Python code runs and borrowed members stay alive.


cdef object copied(object value, object limit, object max_depth, bint received):
    cdef Walk walk
    cdef Py_ssize_t most = limit_of(limit)
    cdef bint collecting
    walk_open(&walk, most, depth_of(max_depth), received)
    members_open(&walk.members)
    collecting = collector_pause()
    try:
        result = copy_value(&walk, value, 0)
        if walk.reason == NULL and walk.size <= most + walk.allowance:
            return result
    finally:
        members_close(&walk.members)
        collector_resume(collecting)
    measured(value, limit, max_depth, received)
    raise changed()


# The copying functions return None with walk.reason set when there is trouble.

cdef inline object copy_value(Walk *walk, object value, int depth):
    cdef int kind = kind_of(<PyObject *>value)
    if charge_node(walk, <PyObject *>value, kind) == CONTAINER:
        return copy_container(walk, value, kind, depth)
    return value


cdef object copy_container(Walk *walk, object value, int kind, int depth):
    if depth >= walk.max_depth:
        trouble(walk, b"depth")
        return None
    if kind == KIND_DICT:
        return copy_dict(walk, value, depth + 1)
    # Before room is taken: each item costs at least 1.
    if (
        PyList_GET_SIZE(value) if kind == KIND_LIST else PyTuple_GET_SIZE(value)
    ) > walk.remaining:
        trouble(walk, b"bytes")
        return None
    if kind == KIND_LIST:
        value = PyList_GetSlice(value, 0, PyList_GET_SIZE(value))
    else:
        value = list(<tuple>value)
    return copy_items(walk, value, depth + 1)


cdef list copy_items(Walk *walk, list result, int depth):
    """Replace the containers in a list of our own by their copies."""
    cdef Py_ssize_t i, count = PyList_GET_SIZE(result)
    cdef PyObject *item
    cdef int kind
    walk.size += array_marks(count)
    for i in range(count):
        item = PyList_GET_ITEM(result, i)
        kind = kind_of(item)
        if charge_node(walk, item, kind) == CONTAINER:
            result[i] = copy_container(walk, <object>item, kind, depth)
        if walk.reason != NULL:
            return None
    return result


cdef dict copy_dict(Walk *walk, object value, int depth):
    cdef Py_ssize_t i, first = walk.members.used, count = PyDict_GET_SIZE(value)
    cdef PyObject *name
    cdef PyObject *item
    cdef dict result
    cdef bint whole
    cdef int order, kind
    walk.size += array_marks(count) + count
    if count > walk.remaining:
        trouble(walk, b"bytes")
        return None
    order = members_of(&walk.members, value)
    if order == MEMBERS_ODD:
        trouble(walk, b"key_type")
        return None
    whole = order == MEMBERS_IN_ORDER
    result = PyDict_Copy(value) if whole else {}
    for i in range(first, walk.members.used):
        name = walk.members.items[i].name
        item = walk.members.items[i].value
        kind = kind_of(item)
        walk.remaining -= 1
        if charge_text(walk, <object>name) != OK:
            return None
        if charge_node(walk, item, kind) == CONTAINER:
            result[<object>name] = copy_container(walk, <object>item, kind, depth)
        elif not whole:
            result[<object>name] = <object>item
        if walk.reason != NULL:
            return None
    walk.members.used = first
    return result
