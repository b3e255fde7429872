"""The host lock: one process at a time runs the programs of a store.

Anybody may open a store file, look at it and send commands; only claiming attempts
needs the lock. It is the operating system's lock on a file beside the store, so it
ends with its process however that ends, and a new host can take over at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from pathlib import Path
from typing import IO, Self

from ledgence.local._store._sqlite import StoreError

__all__ = ["HostLock"]

_TRIES = 5
_PAUSE_SECONDS = 0.01


class HostLock:
    """The right to run programs for a store.

    Args:
        store: The store's file; None for a store in memory, which is never shared.
        host_id: Who holds it, for others to read.

    Raises:
        StoreError: ``store_in_use``, with who holds it in ``details``.
    """

    def __init__(self, store: Path | None, host_id: str) -> None:
        self.path = None if store is None else store.with_name(store.name + "-host")
        self._file: IO[str] | None = None
        if self.path is not None:
            self._file = self._take(self.path, host_id)

    @staticmethod
    def _take(path: Path, host_id: str) -> IO[str]:
        try:
            file = path.open("a+", encoding="utf-8")
        except OSError as error:
            raise StoreError(
                f"the host lock cannot be taken: {error.strerror}",
                code="store_unusable",
                details={"path": str(path)},
            ) from error
        try:
            _lock(file)
            file.truncate(0)
            file.write(json.dumps({"host_id": host_id, "pid": os.getpid()}))
            file.flush()
        except BlockingIOError:
            file.seek(0)
            holder = _holder(file.read(4096))
            file.close()
            raise StoreError(
                "another host runs the programs of this store",
                code="store_in_use",
                kind="conflict",
                details={"path": str(path), **holder},
                hint="stop it first; commands and inspection need no host of their own",
            ) from None
        except BaseException:
            file.close()
            raise
        return file

    @staticmethod
    def is_free(store: Path) -> bool:
        """Tell whether nobody runs the programs of a store; it is not taken."""
        try:
            with store.with_name(store.name + "-host").open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return True
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """Give the right back."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()


def _lock(file: IO[str]) -> None:
    """Take the lock; who only asks whether it is free has it for an instant."""
    for _ in range(_TRIES):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(_PAUSE_SECONDS)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _holder(text: str) -> dict[str, object]:
    try:
        found = json.loads(text)
        return {"host_id": found["host_id"], "pid": found["pid"]}
    except (ValueError, KeyError, TypeError):
        # It has the lock and has not yet written who it is.
        return {}
