"""The process entry of a Ledgence runner (runner-protocol.md, sections 1 and 2).

Run as a script, it takes the two protocol descriptors away from everyone else and
hands over to ``ledgence.worker._runner``. Imported as a module, it only offers two
numbers. It is compiled at every start (``-B``), so nothing else is in here.
"""

import sys

sys.dont_write_bytecode = True

DEFAULT_RUNTIME_FRAME_MAX_BYTES = 2_097_152  # one line, its newline included
MAX_WIRE_VALUE_DEPTH = 64  # containers inside each other


def _run() -> int:
    """Isolate the descriptors, then run; whatever fails outside a handler is 70."""
    import os  # noqa: PLC0415 - who imports this module wants its numbers only

    try:
        source, sink = os.dup(0), os.dup(1)  # os.dup makes them not inheritable
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        if not sys.flags.safe_path:
            del sys.path[0]  # the folder of this script holds no top-level modules
        home = os.path.abspath(__file__)
        for _ in range(3):
            home = os.path.dirname(home)
        sys.path.insert(0, home)
        from ledgence.worker._runner.session import main  # noqa: PLC0415 # the path is set first

        return main(sys.argv[1:], source, sink)
    except Exception as error:  # noqa: BLE001 - shown in full, told by the status
        sys.__excepthook__(type(error), error, error.__traceback__)
        return 70


if __name__ == "__main__":
    sys.exit(_run())
