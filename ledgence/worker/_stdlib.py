"""Which names belong to the standard library in a runner (runner-protocol.md, 3.2).

The artifact precedes the standard library on ``sys.path``, except for the names of a
table: those are the standard library's even where their module is loaded late, or not
at all. ``reserve`` puts that table in force; ``is_taken`` judges a handler's name.

Beside the table the helper may need a module whose name is free. It asks ``load`` for
it, which neither sees a file of the artifact nor takes the name away from it.

Nothing is imported here that the interpreter has not loaded before its first line.
"""

import _frozen_importlib as _importer
import _frozen_importlib_external as _files
import sys

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_ALWAYS = (
    "abc argparse ast builtins bz2 codecs collections contextlib contextvars copy "
    "copyreg dataclasses dis encodings enum errno fnmatch functools genericpath "
    "gettext importlib inspect io itertools json keyword ledgence linecache locale "
    "lzma marshal math ntpath opcode operator os pathlib posix posixpath re reprlib "
    "shutil stat sys textwrap time token tokenize traceback types typing warnings "
    "weakref zipimport zlib"
)
_UNTIL_3_12 = "ipaddress urllib"
_FROM_3_13 = "glob grp pwd"
_FROM_PROTOCOL_2 = "atexit datetime logging string threading"
_FROM_PROTOCOL_3 = (
    "array asyncio base64 binascii concurrent fcntl heapq select selectors signal "
    "socket ssl string struct subprocess"
)


def table(
    protocol: int, version: tuple[int, ...] = sys.version_info[:2]
) -> frozenset[str]:
    """The public top-level names that are not free in a protocol."""
    names = f"{_ALWAYS} {_FROM_3_13 if version >= (3, 13) else _UNTIL_3_12}"
    if protocol >= 2:
        names = f"{names} {_FROM_PROTOCOL_2}"
    if protocol >= 3:
        names = f"{names} {_FROM_PROTOCOL_3}"
    return frozenset(names.split())


class Reserved:
    """A finder that keeps the names of the table away from the artifact.

    The standard library's private modules, such as ``_heapq``, go with the table: its
    modules need them.
    """

    def __init__(self, names: frozenset[str], paths: list[str]) -> None:
        self.names = names
        self.paths = paths

    def holds(self, name: str) -> bool:
        """Whether a top-level name is the standard library's in this process."""
        return name in self.names or (
            name.startswith("_") and name in sys.stdlib_module_names
        )

    def find_spec(
        self,
        name: str,
        path: "Sequence[str] | None" = None,
        target: "ModuleType | None" = None,  # noqa: ARG002 - the finder protocol's
    ) -> "ModuleSpec | None":
        """Find a reserved top-level name in the standard library only."""
        if path is not None or not self.holds(name) or name == "ledgence":
            return None
        spec = _files.PathFinder.find_spec(name, self.paths)
        if spec is None and name in self.names:
            raise ModuleNotFoundError(
                f"the standard library has no module named {name!r} here", name=name
            )
        return spec


_reserved: Reserved | None = None  # set in a runner only
_private: dict[str, "ModuleType"] = {}


def reserve(protocol: int) -> None:
    """Put the table in force; call before anything but the library is on sys.path.

    The last entry of ``sys.path`` to count is the interpreter's own: the caller's
    first entry, the folder that holds ``ledgence``, does not.
    """
    global _reserved  # noqa: PLW0603 - the import system is the process's, too
    _reserved = Reserved(table(protocol), sys.path[1:])
    finders = sys.meta_path
    finders.insert(finders.index(_files.PathFinder), _reserved)


def is_taken(module: str) -> bool:
    """Whether a handler's module, or one of its packages, cannot be the artifact's."""
    if _reserved is not None and _reserved.holds(module.partition(".")[0]):
        return True
    prefix = ""
    for part in module.split("."):
        prefix = f"{prefix}.{part}" if prefix else part
        if prefix in sys.modules:
            return True
    return False


def is_standard(name: str, module: object) -> bool:
    """Whether a loaded module is the standard library's and not the artifact's."""
    if _reserved is None:
        return True
    origin = getattr(getattr(module, "__spec__", None), "origin", None)
    if origin in ("built-in", "frozen"):
        return True
    spec = _files.PathFinder.find_spec(name, _reserved.paths)
    return spec is not None and spec.origin == origin


def is_free(name: str) -> bool:
    """Whether the artifact may use the name of a standard module for its own."""
    return _reserved is not None and name not in _reserved.names


def is_shadowed(name: str) -> bool:
    """Whether an import of a standard module would give a module of the artifact."""
    if _reserved is None or name in _reserved.names:
        return False
    module = sys.modules.get(name)
    if module is not None:
        return not is_standard(name, module)
    spec = _files.PathFinder.find_spec(name)
    standard = _files.PathFinder.find_spec(name, _reserved.paths)
    return (spec and spec.origin) != (standard and standard.origin)


def load(name: str) -> "ModuleType":
    """A standard-library module whose name is free for the artifact.

    Only for extension modules, which import nothing themselves. The module is shared
    with the program if the program has loaded it, else it is the helper's alone.

    Raises:
        ImportError: This interpreter has no such module.
    """
    if _reserved is None:
        return __import__(name)
    module = sys.modules.get(name)
    if module is not None and is_standard(name, module):
        return module
    if name in _private:
        return _private[name]
    spec = _importer.BuiltinImporter.find_spec(name)
    spec = spec or _files.PathFinder.find_spec(name, _reserved.paths)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"no standard module named {name!r}", name=name)
    module = _importer.module_from_spec(spec)
    spec.loader.exec_module(module)
    _private[name] = module
    return module
