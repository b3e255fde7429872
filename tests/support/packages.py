"""Program directories and archives for tests, good ones and hostile ones."""

import io
import json
import stat
import zipfile
from pathlib import Path

MANIFEST = {
    "schema_version": 1,
    "program": {"id": "p", "version": "1"},
    "runtime": {"kind": "python", "python": "3.12", "protocol": 3},
    "handler": "program:handle",
    "platform": {"os": "linux", "arch": "x86_64"},
}


def manifest(**changes):
    """The text of a manifest with some members changed."""
    return json.dumps({**MANIFEST, **changes})


def write_tree(root, files=None, **changes):
    """Write a program directory; ``files`` maps paths to texts, None for a directory.

    A manifest (with ``changes``) and a handler are there unless given otherwise.
    """
    found = {
        "ledgence-program.json": manifest(**changes),
        "program.py": "def handle(event):\n    return event['data']\n",
        **(files or {}),
    }
    for name, text in found.items():
        path = Path(root) / name
        if text is None:
            path.mkdir(parents=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return Path(root)


def entry(name, *, mode=None, method=zipfile.ZIP_DEFLATED, system=3):
    """An archive entry; its kind follows from the name unless ``mode`` says another."""
    info = zipfile.ZipInfo(name)
    kind = stat.S_IFDIR | 0o755 if name.endswith("/") else stat.S_IFREG | 0o644
    info.external_attr = (kind if mode is None else mode) << 16
    info.create_system = system
    info.compress_type = method
    return info


def archive(*entries, **changes):
    """The bytes of an archive of a manifest and these entries.

    An entry is a name, a ``ZipInfo``, or one of them with its content.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr(entry("ledgence-program.json"), manifest(**changes))
        for one in entries:
            info, content = one if isinstance(one, tuple) else (one, "")
            file.writestr(entry(info) if isinstance(info, str) else info, content)
    return buffer.getvalue()


def bare_archive(*entries):
    """The bytes of an archive of these entries alone."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in entries:
            file.writestr(entry(name), content)
    return buffer.getvalue()
