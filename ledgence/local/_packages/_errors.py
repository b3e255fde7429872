"""What is wrong with a package or with a store of packages."""

from __future__ import annotations

from ledgence.local._errors import LocalError

__all__ = ["PackageError"]


class PackageError(LocalError):
    """A package cannot be built, published or used; ``code`` says why.

    ``package_source``, ``package_path``, ``package_link``, ``package_size``,
    ``package_reserved``: the files cannot be packed, or the archive's entries are not
    what the contract allows. ``package_archive``: no archive of the permitted kind.
    ``program_conflict``: other bytes are published under this id and version.
    ``program_damaged``: what the store keeps is not what was published.
    ``program_store``: the directory cannot be read or written.
    """
