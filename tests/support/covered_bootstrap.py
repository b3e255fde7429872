"""Run the bootstrap under coverage: for the tests' driver only, never for a worker.

usage: covered_bootstrap.py ROOT SITE BOOTSTRAP ARGUMENT...

The coverage package is found in SITE, which is then taken off the path again. A
process may end by ``os._exit`` or fork; what it has run is saved all the same.
"""

import os
import sys


def main():
    root, site, bootstrap, *arguments = sys.argv[1:]
    path = list(sys.path)
    sys.path.append(site)
    import coverage

    sys.path[:] = path
    measured = coverage.Coverage(
        data_file=f"{root}/.coverage",
        data_suffix=True,
        branch=True,
        source=[f"{root}/ledgence"],
        config_file=f"{root}/pyproject.toml",
    )
    measured._warn_no_data = False
    measured.start()
    leave = os._exit

    def leave_saved(status):
        measured.stop()
        measured.save()
        leave(status)

    os._exit = leave_saved
    trace_bare_threads()
    import atexit
    import runpy

    def save():
        measured.stop()
        measured.save()

    atexit.register(save)
    sys.argv = [bootstrap, *arguments]
    runpy.run_path(bootstrap, run_name="__main__")


def trace_bare_threads():
    """Coverage follows threads of ``threading`` only; follow the others, too."""
    import _thread
    import threading

    start = _thread.start_new_thread

    def start_traced(function, arguments):
        def run():
            sys.settrace(threading.gettrace())
            function(*arguments)

        return start(run, ())

    _thread.start_new_thread = start_traced


if __name__ == "__main__":
    main()
