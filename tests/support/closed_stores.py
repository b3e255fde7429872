"""A fixture that closes the stores that a test has opened."""

import pytest

from ledgence.local._store import SqliteStore


@pytest.fixture(autouse=True)
def closed_stores(monkeypatch):
    opened = []
    plain = SqliteStore.__init__

    def open_and_remember(self, *arguments, **options):
        plain(self, *arguments, **options)
        opened.append(self)

    monkeypatch.setattr(SqliteStore, "__init__", open_and_remember)
    yield
    for store in opened:
        store.close()
