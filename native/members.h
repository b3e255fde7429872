/* The members of dicts in the order of their names, without sorting what is sorted.
 *
 * References are borrowed: they are used only where no Python code can run between
 * collecting the members and the last use (the callers say why).
 */
#ifndef LEDGENCE_MEMBERS_H
#define LEDGENCE_MEMBERS_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "text.h"

typedef struct {
    uint64_t prefix; /* text_prefix of the name */
    PyObject *name;
    PyObject *value;
} Member;

/* The members of all dicts that are open in a walk, one after the other. */
#define MEMBERS_FIRST 64

typedef struct {
    Member *items;
    Py_ssize_t used;
    Py_ssize_t room;
    Member first[MEMBERS_FIRST];
} Members;

static inline void
members_open(Members *members)
{
    members->items = members->first;
    members->used = 0;
    members->room = MEMBERS_FIRST;
}

static inline void
members_close(Members *members)
{
    if (members->items != members->first)
        PyMem_Free(members->items);
}

static int
members_grow(Members *members, Py_ssize_t more)
{
    Py_ssize_t room = 2 * members->room;
    Member *items = members->items == members->first ? NULL : members->items;

    if (room < members->used + more)
        room = members->used + more;
    items = PyMem_Realloc(items, (size_t)room * sizeof(Member));
    if (items == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (members->items == members->first)
        memcpy(items, members->first, (size_t)members->used * sizeof(Member));
    members->items = items;
    members->room = room;
    return 0;
}

static inline int
member_before(const Member *left, const Member *right)
{
    if (left->prefix != right->prefix)
        return left->prefix < right->prefix;
    /* Both are exact strings: no user code runs and no error can occur. */
    return PyUnicode_Compare(left->name, right->name) < 0;
}

#define SORT_RUN 16

static void
members_sort_run(Member *items, Py_ssize_t count)
{
    for (Py_ssize_t i = 1; i < count; i++) {
        Member member = items[i];
        Py_ssize_t to = i;
        while (to > 0 && member_before(&member, &items[to - 1])) {
            items[to] = items[to - 1];
            to--;
        }
        items[to] = member;
    }
}

/* Merge sort from the bottom over short runs sorted by insertion. -1 with MemoryError. */
static int
members_sort(Member *items, Py_ssize_t count)
{
    if (count <= SORT_RUN) {
        members_sort_run(items, count);
        return 0;
    }
    Member *from = items, *to = PyMem_Malloc((size_t)count * sizeof(Member));
    Member *spare = to;
    if (spare == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i += SORT_RUN)
        members_sort_run(items + i, count - i < SORT_RUN ? count - i : SORT_RUN);
    for (Py_ssize_t run = SORT_RUN; run < count; run *= 2) {
        for (Py_ssize_t begin = 0; begin < count; begin += 2 * run) {
            Py_ssize_t middle = count - begin < run ? count : begin + run;
            Py_ssize_t end = count - begin < 2 * run ? count : begin + 2 * run;
            Py_ssize_t left = begin, right = middle;
            for (Py_ssize_t i = begin; i < end; i++) {
                int take_right = left == middle
                    || (right < end && member_before(&from[right], &from[left]));
                to[i] = take_right ? from[right++] : from[left++];
            }
        }
        Member *swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, (size_t)count * sizeof(Member));
    PyMem_Free(spare);
    return 0;
}

#define MEMBERS_FAILED (-1) /* MemoryError is set */
#define MEMBERS_ODD (-2)    /* a name that is not exactly a str */
#define MEMBERS_IN_ORDER 0
#define MEMBERS_SORTED 1 /* the dict has them in another order */

/* Append the members of an exact dict, in the order of their names. The caller takes
 * them off again by setting `used` back. */
static int
members_of(Members *members, PyObject *dict)
{
    Py_ssize_t count = PyDict_GET_SIZE(dict), position = 0;
    PyObject *name, *value;
    int in_order = 1;

    if (members->room - members->used < count && members_grow(members, count) < 0)
        return MEMBERS_FAILED;
    Member *begin = members->items + members->used, *at = begin;
    while (at < begin + count && PyDict_Next(dict, &position, &name, &value)) {
        if (!PyUnicode_CheckExact(name))
            return MEMBERS_ODD;
        if (text_ready(name) < 0)
            return MEMBERS_FAILED;
        at->prefix = text_prefix(name);
        at->name = name;
        at->value = value;
        if (in_order && at > begin && !member_before(at - 1, at))
            in_order = 0;
        at++;
    }
    members->used += at - begin;
    if (in_order)
        return MEMBERS_IN_ORDER;
    return members_sort(begin, at - begin) < 0 ? MEMBERS_FAILED : MEMBERS_SORTED;
}

#endif
