"""A look at a program's text without running it, for better advice."""

from __future__ import annotations

import ast
from pathlib import Path

__all__ = ["defined_names"]


def defined_names(path: Path) -> set[str] | None:
    """Return the names a module certainly defines at its top level.

    None means that this cannot be told from the text: it does not parse, or it
    defines names in a way that only shows when it runs.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names):
            return None
        if isinstance(node, ast.Name) and node.id in _DYNAMIC:
            return None
        if isinstance(node, ast.Attribute) and node.attr == "modules":
            return None
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(a.asname or a.name).split(".")[0] for a in node.names}
        elif isinstance(node, _DEFINITIONS):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return None if "__getattr__" in names else names


# Names bound anywhere count, so that only certain misses are reported.
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_DYNAMIC = {"globals", "locals", "vars", "setattr", "exec"}
