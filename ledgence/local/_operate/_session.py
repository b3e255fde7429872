"""The store that a command works on."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ledgence.local._engine import Engine, Inspection, Scope
from ledgence.local._store import SqliteStore, StoreError, locate

if TYPE_CHECKING:
    from ledgence.local._operate._links import Links
    from ledgence.local._packages import ProgramStore

__all__ = ["DEFAULT_SCOPE", "DEFAULT_STORE", "Place", "Session", "programs_beside"]

DEFAULT_STORE = ".ledgence/local.db"
DEFAULT_SCOPE = Scope("local", "default")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the records are, whose they are, and how answers are printed."""

    store: Path
    scope: Scope
    as_json: bool = False

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Place:
        """Read the options that every command on a store has."""
        return cls(
            store=Path(given["store"]),
            scope=Scope(given["tenant"], given["namespace"]),
            as_json=given["as_json"],
        )

    def words(self, command: str) -> str:
        """Return a command line that works on this place."""
        usual = os.environ.get("LEDGENCE_LOCAL_STORE") or DEFAULT_STORE
        given = (
            ("--store", str(self.store), usual),
            ("--tenant", self.scope.tenant_id, DEFAULT_SCOPE.tenant_id),
            ("--namespace", self.scope.namespace, DEFAULT_SCOPE.namespace),
        )
        options = [
            f" {name} {shlex.quote(v)}" for name, v, usual in given if v != usual
        ]
        return f"ledgence-local {command}{''.join(options)}"


class Session:
    """An open store with what a command asks of it.

    Args:
        place: The store.
        create: Make the file when it is missing; else that is an error.

    Raises:
        StoreError: The file is missing, or is no store.
    """

    def __init__(self, place: Place, *, create: bool = False) -> None:
        self.place = place
        self.as_json = place.as_json
        if locate(place.store, create=create) is None:
            raise StoreError(
                f"there is no store {place.store}",
                code="store_not_found",
                details={"path": str(place.store.absolute())},
                hint="`workflow start` and `task submit` make one; give --store",
            )
        self.store = SqliteStore(place.store)
        self.look = Inspection(self.store)
        self.opened_at = time.time_ns() // 1_000_000

    @cached_property
    def programs(self) -> ProgramStore:
        """The published programs beside the store."""
        # Imported here, as below: most questions need no programs.
        from ledgence.local._packages import ProgramStore  # noqa: PLC0415 # slow to load

        return ProgramStore(programs_beside(self.place.store))

    @cached_property
    def links(self) -> Links:
        """The linked programs."""
        from ledgence.local._operate._links import Links  # noqa: PLC0415 - as above

        return Links(self.programs)

    @cached_property
    def engine(self) -> Engine:
        """Records commands; nothing is run by it."""
        from ledgence.local._operate._programs import (  # noqa: PLC0415 - as above
            Bindable,
        )

        return Engine(self.store, Bindable(self.programs, self.links))

    @property
    def scope(self) -> dict[str, str]:
        """The scope of every request."""
        scope = self.place.scope
        return {"tenant_id": scope.tenant_id, "namespace": scope.namespace}

    def about(self, **members: object) -> dict[str, Any]:
        """Return a request with the scope; members that are None are left out."""
        given = {name: one for name, one in members.items() if one is not None}
        return {"scope": self.scope, **given}

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def programs_beside(store: Path) -> Path:
    """Return the directory of programs of a store file."""
    return store.with_name(f"{store.name}.programs")
