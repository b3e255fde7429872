"""``python -m ledgence.worker``: what is installed, which twin runs, the limits."""

import sys
from importlib import metadata

from ledgence.worker import _log_records, _profile, bootstrap
from ledgence.worker._runner import options, writer
from ledgence.worker.workflow import _limits


def describe() -> str:
    """The facts as lines of ``name: value``."""
    try:
        version = metadata.version("ledgence-worker")
    except metadata.PackageNotFoundError:
        version = "not installed as a distribution"
    facts = {
        "ledgence-worker": version,
        "python": f"{sys.version.split()[0]} ({sys.implementation.name})",
        "profile": _profile.IMPLEMENTATION,
        "protocols": "1, 2, 3",
        "frame bytes": f"{bootstrap.DEFAULT_RUNTIME_FRAME_MAX_BYTES} by default,"
        f" at least {options.SMALLEST_FRAME_BYTES}",
        "output depth": bootstrap.MAX_WIRE_VALUE_DEPTH,
        "log frame bytes": writer.LOG_FRAME_BYTES,
        "log message characters": _log_records.MAX_MESSAGE,
        "waiting log records": writer.MAX_WAITING_RECORDS,
    }
    facts |= {
        "workflow " + name.lower().replace("_", " "): value
        for name, value in vars(_limits).items()
        if type(value) is int
    }
    return "".join(f"{name}: {value}\n" for name, value in facts.items())


if __name__ == "__main__":
    sys.stdout.write(describe())
