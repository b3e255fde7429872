"""The store of the local host: SQLite under the engine's small interface.

Any number of processes may open one file: each mutation is one short transaction and
writers take turns, so `workflow list`, `event send` or `approval approve` work beside
a running host. Running programs needs the host lock in addition, which one process
holds at a time; the second one is refused with ``store_in_use`` and told who holds
it.
"""

from ledgence.local._store._hostlock import HostLock
from ledgence.local._store._place import locate
from ledgence.local._store._sqlite import SqliteStore, StoreError

__all__ = ["HostLock", "SqliteStore", "StoreError", "locate"]
