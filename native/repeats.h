/* Texts beyond ASCII that occur again in one value are written once and then copied.
 *
 * A text is recognised as the same object, which is safe only while nothing can run
 * Python code: then no object of the value dies and no address is used again. The names of
 * the members of many records are the most frequent case.
 */
#ifndef LEDGENCE_REPEATS_H
#define LEDGENCE_REPEATS_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "text.h"

#define REPEATS_SLOTS 64

typedef struct {
    PyObject *text;
    Py_ssize_t place; /* where it stands in the output, with its quotes */
    Py_ssize_t size;
    Py_ssize_t utf8;
} Repeat;

typedef struct {
    int used;
    Repeat slots[REPEATS_SLOTS];
} Repeats;

static inline void
repeats_open(Repeats *repeats)
{
    repeats->used = 0; /* the slots are cleared when the first text needs them */
}

static __attribute__((noinline)) int
repeats_put_wide(Repeats *repeats, Output *out, PyObject *text, Py_ssize_t *utf8)
{
    if (!repeats->used) {
        for (int i = 0; i < REPEATS_SLOTS; i++)
            repeats->slots[i].text = NULL;
        repeats->used = 1;
    }
    uintptr_t address = (uintptr_t)text;
    Repeat *slot = &repeats->slots[(address >> 4 ^ address >> 10) % REPEATS_SLOTS];
    if (slot->text == text) {
        int status = output_room(out, slot->size + 1);
        if (status < 0)
            return status;
        memcpy(out->at, out->start + slot->place, (size_t)slot->size);
        out->at += slot->size;
        *utf8 = slot->utf8;
        return 0;
    }
    Py_ssize_t place = output_size(out);
    int status = text_put(out, text, utf8);
    if (status == 0)
        *slot = (Repeat){text, place, output_size(out) - place, *utf8};
    return status;
}

/* As text_put. */
static inline int
repeats_put(Repeats *repeats, Output *out, PyObject *text, Py_ssize_t *utf8)
{
    if (__builtin_expect(PyUnicode_IS_ASCII(text), 1)) {
        *utf8 = PyUnicode_GET_LENGTH(text);
        return ascii_put(out, PyUnicode_1BYTE_DATA(text), *utf8);
    }
    const unsigned char *cached = text_cached(out, text, utf8);
    if (cached != NULL)
        return utf8_put(out, cached, *utf8);
    return repeats_put_wide(repeats, out, text, utf8);
}

#endif
