"""Program directories for tests."""

import json
import os
import sys

HERE = "{}.{}".format(*sys.version_info[:2])
SYSTEM = {"Linux": "linux", "Darwin": "macos"}[os.uname().sysname]
ARCH = {"amd64": "x86_64", "arm64": "aarch64"}.get(
    os.uname().machine, os.uname().machine
)


def write_manifest(directory, **changes):
    value = {
        "schema_version": 1,
        "program": {"id": "p", "version": "1"},
        "runtime": {"kind": "python", "python": HERE, "protocol": 2},
        "handler": "program:handle",
        "platform": {"os": SYSTEM, "arch": ARCH},
        **changes,
    }
    (directory / "ledgence-program.json").write_text(json.dumps(value))
