"""The SQLite store: a file in WAL mode, or memory for tests.

One connection, one transaction at a time within a process; other processes may have
the same file open and take turns (a writer waits at most ``busy_ms``). An answer is
given only after its transaction is on the disk: ``synchronous`` is ``FULL``.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, Self

from ledgence.local._engine._errors import Unavailable
from ledgence.local._errors import LocalError
from ledgence.local._store._schema import APPLICATION_ID, MIGRATIONS
from ledgence.local._store._views import SqliteRows

__all__ = ["SqliteStore", "StoreError"]

_BUSY_MS: Final = 5_000
_PAUSE_SECONDS: Final = 0.01


class StoreError(LocalError):
    """A file cannot be used as a store; ``code`` says why.

    ``store_foreign``: another kind of database. ``store_newer``: written by a newer
    release. ``store_unusable``: it cannot be opened. ``store_in_use``: another host
    runs programs for it.
    """


class SqliteStore:
    """The records of a host.

    Args:
        path: The file, created when it is missing; None keeps all in memory.
        busy_ms: How long to wait for another process that writes.
        migrations: The versions of the schema; others only in tests.

    Raises:
        StoreError: The file is no store, or one of a newer release.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        busy_ms: int = _BUSY_MS,
        migrations: Sequence[Sequence[str]] = MIGRATIONS,
    ) -> None:
        self.path = None if path is None else Path(path)
        self._lock = threading.RLock()
        self._busy_ms = busy_ms
        self._seen = 0
        try:
            self._db = self._connect()
            self._prepare(migrations)
        except sqlite3.Error as error:
            raise StoreError(
                f"the store cannot be opened: {error}",
                code="store_unusable",
                details={"path": str(self.path)},
            ) from error

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(
            ":memory:" if self.path is None else self.path,
            timeout=self._busy_ms / 1000,
            isolation_level=None,
            cached_statements=256,
            check_same_thread=False,
        )

    def _prepare(self, migrations: Sequence[Sequence[str]]) -> None:
        try:
            # Before anything is written to the file.
            self._require_ours()
            if self.path is not None:
                self._enter_wal()
                self._db.execute("PRAGMA synchronous = FULL")
            self._migrate(migrations)
            self._file = None if self.path is None else _identity(self.path)
        except BaseException:
            self._db.close()
            raise

    def _require_ours(self) -> None:
        # In this order: tables and mark come in one transaction of another opener,
        # which may be kept between the two questions.
        tables = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        mark = self._pragma("application_id")
        if mark == APPLICATION_ID or (mark == 0 and tables == 0):
            return
        raise StoreError(
            "the file is a database of another kind",
            code="store_foreign",
            details={"path": str(self.path)},
            hint="name another file",
        )

    def _enter_wal(self) -> None:
        """Switch to WAL; SQLite does not wait by itself for others who do so too."""
        until = time.monotonic() + self._busy_ms / 1000
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError:
                if time.monotonic() >= until:
                    raise
                time.sleep(_PAUSE_SECONDS)
            else:
                return

    def _migrate(self, migrations: Sequence[Sequence[str]]) -> None:
        newest = len(migrations)
        if self._pragma("user_version") == newest:
            return
        with self._transaction("IMMEDIATE"):
            version = self._pragma("user_version")
            if version > newest:
                raise StoreError(
                    f"the store has version {version}, this release knows {newest}",
                    code="store_newer",
                    details={"path": str(self.path)},
                    hint="use the release that wrote it, or a newer one",
                )
            for migration in migrations[version:]:
                for statement in migration:
                    self._db.execute(statement)
            self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._db.execute(f"PRAGMA user_version = {newest}")

    def _pragma(self, name: str) -> int:
        value: int = self._db.execute(f"PRAGMA {name}").fetchone()[0]
        return value

    def changed_elsewhere(self) -> bool:
        """Tell whether another connection has written since the last call.

        Raises:
            Unavailable: The store cannot be read.
        """
        with self._guarded():
            before, self._seen = self._seen, self._pragma("data_version")
            return before != self._seen

    @contextmanager
    def writing(self) -> Generator[SqliteRows]:
        """Open a transaction that may write.

        Raises:
            Unavailable: Another process kept the store busy, or it cannot be written;
                after that the outcome of the last transaction is not known. Or its
                file was taken away, and nothing more is kept.
        """
        with self._guarded(), self._transaction("IMMEDIATE"):
            yield SqliteRows(self._db)
            self._require_there()

    def _require_there(self) -> None:
        """Refuse to keep anything in a file that has no name any more."""
        if self.path is not None and _identity(self.path) != self._file:
            raise Unavailable(
                "the store's file was moved, removed or replaced",
                details={"path": str(self.path)},
                hint="nothing is kept any more; close the store and open it again",
            )

    @contextmanager
    def reading(self) -> Generator[SqliteRows]:
        """Open a transaction that sees one moment and writes nothing.

        Raises:
            Unavailable: The store cannot be read.
        """
        with self._guarded(), self._transaction("DEFERRED"):
            yield SqliteRows(self._db)

    @contextmanager
    def _guarded(self) -> Generator[None]:
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise Unavailable(
                    f"the store cannot be used now: {error}",
                    details={"path": str(self.path)},
                ) from error

    @contextmanager
    def _transaction(self, kind: Literal["IMMEDIATE", "DEFERRED"]) -> Generator[None]:
        self._db.execute(f"BEGIN {kind}")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Close the store; what was acknowledged is kept."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
