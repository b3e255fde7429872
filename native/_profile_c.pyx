# The compiled twin of ledgence/worker/_profile_py.py (json-profile.md is the contract).
#
# The four walks are in the included files, what touches single bytes in the C headers.
# Conventions inside:
#
# * A walk returns OK, or TROUBLE for a violation of the profile, or raises what is no
#   violation (MemoryError, what user code raised).
# * Depth is bounded by a counter, never by the C stack: max_depth is at most 127.
# * References: `object` variables are strong. Borrowed ones are used only in walks over
#   exact types, where nothing can run Python code; the places say so.
#
# cython: language_level=3, binding=True, embedsignature=False
# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: annotation_typing=False, auto_pickle=False

"""The compiled twin of the JSON profile: see ``ledgence.worker._profile``."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.dict cimport (
    PyDict_Check, PyDict_CheckExact, PyDict_Copy, PyDict_Next,
)
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check, PyFloat_CheckExact
from cpython.list cimport (
    PyList_Check, PyList_CheckExact, PyList_GET_ITEM, PyList_GET_SIZE,
    PyList_GetSlice,
)
from cpython.long cimport PyLong_Check, PyLong_CheckExact
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF
from cpython.tuple cimport (
    PyTuple_Check, PyTuple_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE,
)
from cpython.unicode cimport (
    PyUnicode_Check, PyUnicode_CheckExact, PyUnicode_Substring,
)
from libc.math cimport isfinite
from libc.string cimport memcpy

from ledgence.worker._exceptions import ProfileError

# Equal to ledgence.worker._profile.BUILD, or this binary is stale and not used.
BUILD = 1

cdef extern from "Python.h":
    Py_ssize_t PyDict_GET_SIZE(object dict) noexcept

cdef extern from "output.h":
    enum:
        WRITE_SURROGATE
        WRITE_OVER
    ctypedef struct Output:
        char *at
        Py_ssize_t ceiling
    void output_open(Output *out, Py_ssize_t ceiling) noexcept
    void output_drop(Output *out) noexcept
    Py_ssize_t output_size(const Output *out) noexcept
    int output_room(Output *out, Py_ssize_t more) except -1
    bytes output_take(Output *out)

cdef extern from "kinds.h":
    enum:
        KIND_TEXT
        KIND_INTEGER
        KIND_DICT
        KIND_LIST
        KIND_FLOAT
        KIND_NULL
        KIND_TRUE
        KIND_FALSE
        KIND_TUPLE
        KIND_OTHER
    int kind_of(PyObject *value) noexcept

cdef extern from "text.h":
    void shuffle_open() noexcept
    Py_ssize_t text_length(object text) except -1
    int text_put(Output *out, object text, Py_ssize_t *utf8) except -1
    Py_ssize_t text_fit(object text, Py_ssize_t most, Py_ssize_t room) except -1
    int text_measure(object text, Py_ssize_t *utf8, Py_ssize_t *extra) noexcept

cdef extern from "number.h":
    enum:
        INTEGER_ROOM
    ctypedef struct Integer:
        pass
    bint integer_read(object value, Integer *integer) noexcept
    Py_ssize_t integer_length(const Integer *integer) noexcept
    char *integer_put(char *at, const Integer *integer) noexcept

cdef extern from "shortest.h":
    enum:
        DOUBLE_ROOM
    char *double_put(char *at, double value) noexcept

cdef extern from "members.h":
    enum:
        MEMBERS_ODD
        MEMBERS_IN_ORDER
    ctypedef struct Member:
        PyObject *name
        PyObject *value
    ctypedef struct Members:
        Member *items
        Py_ssize_t used
    void members_open(Members *members) noexcept
    void members_close(Members *members) noexcept
    int members_of(Members *members, object dict) except -1

cdef extern from "write.h":
    ctypedef struct Writer:
        Output out
    void write_open(
        Writer *writer, Py_ssize_t limit, int max_depth, bint received, bint ordered
    ) noexcept
    int write_whole(Writer *writer, object value, bint newline) except -1
    void write_close(Writer *writer) noexcept

cdef extern from "collector.h":
    bint collector_pause() noexcept
    void collector_resume(bint was_on) noexcept

cdef extern from "decode.h":
    enum:
        DECODE_DEPTH
    int decode(
        const char *line,
        Py_ssize_t size,
        bint unique,
        PyObject **result,
        const char **reason,
    ) except -1

cdef extern from *:
    """
    /* More than any limit; an allowance can still be added to it. */
    #define ENDLESS (PY_SSIZE_T_MAX / 4)
    #define MOST_DEPTH 127
    /* Wire walks of one thread inside each other: 8 of 127 levels need 400 KiB of stack. */
    #define MOST_WALKS 8
    static _Thread_local int walks_open = 0;
    #define FRAME_DEPTH 65
    #define MESSAGE_CODE_POINTS 512
    """
    const Py_ssize_t ENDLESS
    int walks_open
    enum:
        MOST_DEPTH
        MOST_WALKS
        FRAME_DEPTH
        MESSAGE_CODE_POINTS

cdef enum:
    OK
    TROUBLE
    CONTAINER

# What a walk does with the tokens of the text.
cdef enum:
    IGNORE
    COUNT
    WRITE

cdef struct Walk:
    Py_ssize_t remaining    # of the budget of section 2.2
    Py_ssize_t size         # of the encoding, where it is counted and not written
    Py_ssize_t allowance    # of section 4; stays 0 in strict mode
    int max_depth
    bint received
    int tokens              # WRITE, COUNT or IGNORE
    const char *reason      # set with TROUBLE
    PyObject *open[MOST_DEPTH]
    Output out
    Members members

shuffle_open()

include "common.pxi"
include "write.pxi"
include "measure.pxi"
include "copy.pxi"
include "wire.pxi"


def encode(value, limit, *, max_depth=64, bint received=False):
    """Return the canonical bytes (json-profile.md, section 2)."""
    return encode_bytes(value, limit, max_depth, received)


def check(value, limit, *, max_depth=64, bint received=False):
    """Return the size of the canonical bytes, or raise as ``encode`` does."""
    return measured(value, limit, max_depth, received)


def freeze(value, limit, *, max_depth=64, bint received=False):
    """Return an independent copy with sorted members (section 5)."""
    return copied(value, limit, max_depth, received)


def thaw(data):
    """Decode canonical bytes (section 5)."""
    return decoded(data, False)


def fingerprint(value, limit, *, max_depth=96, bint received=False):
    """Return the hex SHA-256 of the canonical bytes (section 6)."""
    return sha256_hex(encode_bytes(value, limit, max_depth, received))


def check_wire(value, *, max_depth=64):
    """Raise unless the value follows the wire rules (section 7)."""
    wire_checked(value, max_depth)


def encode_frame(value, limit, *, max_depth=65):
    """Return the line of a frame with its newline (section 7)."""
    return frame_bytes(value, limit, max_depth)


def fit_error(envelope, kind, message, limit, *, status="error"):
    """Return a failure whose message is cut to fit (section 8)."""
    return fitted(envelope, kind, message, limit, status)


def loads(line, *, bint unique=False):
    """Decode one line (section 9)."""
    return decoded(line, unique)
