/* Holding the cyclic garbage collector off while containers are built.
 *
 * CPython 3.11 collects inside the allocation of a container: finalizers may run at any
 * of them, and a large decode pays for passes over containers that are all alive. From
 * 3.12 on collections wait for the evaluation loop, so there is nothing to hold off. The
 * program's own setting is put back; the interpreter lock is held throughout, so nobody
 * sees it changed.
 */
#ifndef LEDGENCE_COLLECTOR_H
#define LEDGENCE_COLLECTOR_H

#include <Python.h>

static inline int
collector_pause(void)
{
#if PY_VERSION_HEX < 0x030C0000
    return PyGC_Disable();
#else
    return 0;
#endif
}

static inline void
collector_resume(int was_on)
{
    if (was_on)
        PyGC_Enable();
}

#endif
