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

cdef object copy_value(Walk *walk, object value, int depth):
    return copy_container(walk, value, depth) if charge_node(walk, value) == CONTAINER else value


cdef object copy_container(Walk *walk, object value, int depth):
    if depth >= walk.max_depth:
        trouble(walk, b"depth")
        return None
    if PyDict_CheckExact(value):
        return copy_dict(walk, value, depth)
    if len(value) > walk.remaining:
        trouble(walk, b"bytes") # before room is taken: each item costs at least 1
        return None
    if PyList_CheckExact(value):
        return copy_items(walk, PyList_GetSlice(value, 0, PyList_GET_SIZE(value)), depth)
    return copy_items(walk, list(<tuple>value), depth)


cdef list copy_items(Walk *walk, list result, int depth):
    cdef Py_ssize_t i, count = PyList_GET_SIZE(result)
    cdef int status
    walk.size += array_marks(count)
    for i in range(count):
        item = <object>PyList_GET_ITEM(result, i)
        status = charge_node(walk, item)
        if status == CONTAINER:
            item = copy_container(walk, item, depth + 1)
            result[i] = item
        if walk.reason != NULL:
            return None
    return result


cdef dict copy_dict(Walk *walk, object value, int depth):
    cdef Py_ssize_t i, first = walk.members.used, count = PyDict_Size(value)
    cdef Member *member
    cdef dict result
    cdef bint whole
    cdef int order
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
        member = &walk.members.items[i]
        name = <object>member.name
        item = <object>member.value
        walk.remaining -= 1
        if charge_text(walk, name) != OK:
            return None
        if charge_node(walk, item) == CONTAINER:
            result[name] = copy_container(walk, item, depth + 1)
        elif not whole:
            result[name] = item
        if walk.reason != NULL:
            return None
    walk.members.used = first
    return result
