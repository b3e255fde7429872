"""Program packages: archives with one identity, and the directory that keeps them.

A package is a ZIP file whose bytes are the program version (orchestrator.md, section
2; http-api.md, section 14). Packing gives the same bytes for the same files; reading
checks everything without running the program; the store publishes a version once and
for good, and unpacks it once.

Writers of a store take turns by a lock on a file in it. What a killed writer leaves
behind is temporary by name and goes with the next one; nothing refers to it.
"""

from ledgence.local._packages._archive import Package, build_package
from ledgence.local._packages._collect import Entry, collect
from ledgence.local._packages._errors import PackageError
from ledgence.local._packages._reader import read_package
from ledgence.local._packages._store import ProgramStore, Publication

__all__ = [
    "Entry",
    "Package",
    "PackageError",
    "ProgramStore",
    "Publication",
    "build_package",
    "collect",
    "read_package",
]
