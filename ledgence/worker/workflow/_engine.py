"""The rooms that need asyncio, behind one import.

A context asks for them when it is made; a program that is imported before any
activation does not have to wait for asyncio.
"""

from __future__ import annotations

from ledgence.worker.workflow._exchange import Exchange
from ledgence.worker.workflow._forks import Forks
from ledgence.worker.workflow._journal import Journal
from ledgence.worker.workflow._owned import drain, finish

__all__ = ["Exchange", "Forks", "Journal", "drain", "finish"]
