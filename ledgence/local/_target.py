"""From what the caller names to what is started.

A target is ``path/to/program.py:function`` or a directory with a manifest.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ledgence.local._errors import TargetError
from ledgence.local._limits import PROTOCOLS, WORKFLOW_PROTOCOL
from ledgence.local._manifest import MANIFEST_NAME, Manifest, parse_manifest

__all__ = [
    "Interpreter",
    "Target",
    "find_interpreter",
    "find_target",
    "require_workflows",
]

_NEWEST = PROTOCOLS[-1]
_VERSION_SECONDS = 10.0
_VERSION_CODE = (
    "import sys; print(sys.implementation.name, '%d.%d' % sys.version_info[:2])"
)


@dataclass(frozen=True, slots=True)
class Target:
    """A program on this machine.

    Attributes:
        root: The absolute directory that the runner takes for the package.
        handler: ``module:function`` inside it.
        protocol: The protocol it is run with.
        manifest: The manifest of a program directory, else None.
    """

    root: Path
    handler: str
    protocol: int
    manifest: Manifest | None


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A CPython and its ``MAJOR.MINOR``."""

    path: str
    version: str


def find_target(text: str, *, protocol: int | None = None) -> Target:
    """Resolve a target.

    Args:
        text: What the caller named.
        protocol: A protocol that was asked for; None takes the manifest's, or 3.

    Raises:
        TargetError: Nothing there can be run; it says what is near.
    """
    path_text, colon, function = text.rpartition(":")
    if not colon:
        path_text, function = text, ""
    path = Path(path_text)
    try:
        directory, file = path.is_dir(), path.is_file()
    except OSError as error:  # no such name can be
        raise TargetError(
            f"there is no {path_text[:200]}: {error.strerror}", code="target_not_found"
        ) from error
    if directory:
        if colon:
            raise TargetError(
                f"{path_text} is a directory; its manifest names the handler",
                code="target_directory_function",
                hint=f"give {path_text}, or {path_text}/program.py:{function}",
            )
        return _directory(path, protocol)
    if not file:
        raise _not_found(path, path_text)
    return _file(path, function, protocol)


def require_workflows(target: Target) -> None:
    """Refuse a program whose protocol has no workflows.

    Raises:
        TargetError: ``protocol_mismatch``.
    """
    if target.protocol != WORKFLOW_PROTOCOL:
        raise TargetError(
            f"workflows need protocol {WORKFLOW_PROTOCOL}",
            code="protocol_mismatch",
            kind="incompatible",
            details={"manifest": target.protocol},
            hint="change runtime.protocol in the manifest",
        )


def _directory(path: Path, protocol: int | None) -> Target:
    file = path / MANIFEST_NAME
    try:
        data = file.read_bytes()
    except OSError as error:
        raise _without_manifest(path, error) from error
    manifest = parse_manifest(data)
    if protocol is not None and protocol != manifest.protocol:
        raise TargetError(
            f"the package is for protocol {manifest.protocol}",
            code="protocol_mismatch",
            kind="incompatible",
            details={"asked for": protocol, "manifest": manifest.protocol},
            hint="leave --protocol out",
        )
    _check_platform(manifest)
    return Target(path.resolve(), manifest.handler, manifest.protocol, manifest)


def _without_manifest(path: Path, error: OSError) -> TargetError:
    programs = sorted(one.name for one in path.glob("*.py"))[:5]
    near = [f"{path}/{name}:handle" for name in programs]
    reason = "" if isinstance(error, FileNotFoundError) else f" ({error.strerror})"
    return TargetError(
        f"{path} has no readable {MANIFEST_NAME}{reason}",
        code="manifest_missing",
        kind="invalid_input",
        hint="name a function instead: " + (", ".join(near) or "program.py:handle"),
    )


def _check_platform(manifest: Manifest) -> None:
    here = os.uname()
    system = {"Linux": "linux", "Darwin": "macos"}.get(here.sysname, here.sysname)
    arch = {"amd64": "x86_64", "arm64": "aarch64"}.get(here.machine, here.machine)
    if (manifest.os, manifest.arch) != (system, arch):
        raise TargetError(
            "the package is for another platform",
            code="platform_mismatch",
            kind="incompatible",
            details={
                "here": f"{system} {arch}",
                "manifest": f"{manifest.os} {manifest.arch}",
            },
            hint="change platform in the manifest if the program has no binary parts",
        )


def _file(path: Path, function: str, protocol: int | None) -> Target:
    if path.suffix != ".py":
        raise TargetError(
            f"{path} is not a Python file",
            code="target_not_python",
            hint="a target is program.py:function or a directory with a manifest",
        )
    if not path.stem.isidentifier():
        better = path.with_name(
            "".join(c if c.isalnum() else "_" for c in path.stem) + ".py"
        )
        raise TargetError(
            f"{path.name} cannot be imported: {path.stem!r} is no Python name",
            code="target_name",
            hint=f"rename it, for example to {better.name}",
        )
    _check_function(path, function)
    root, module = _package_root(path.parent.resolve() / path.name)
    return Target(root, f"{module}:{function}", protocol or _NEWEST, None)


def _package_root(path: Path) -> tuple[Path, str]:
    """Climb out of the regular packages that hold the file."""
    names = [] if path.name == "__init__.py" else [path.stem]
    root = path.parent
    while (root / "__init__.py").is_file() and root.name.isidentifier():
        names.append(root.name)
        root = root.parent
    return root, ".".join(reversed(names))


def _check_function(path: Path, function: str) -> None:
    from ledgence.local._source import defined_names  # noqa: PLC0415 - parses; rare

    names = defined_names(path)
    known = names is None or function in names
    if known and function.isidentifier():
        return
    public = sorted(name for name in names or () if not name.startswith("_"))
    near = _close(function, public, 0.5)
    if not near and "handle" in public:
        near = ["handle"]
    what = f"defines no {function!r}" if function else "needs a function"
    options = [f"{path}:{name}" for name in near]
    raise TargetError(
        f"{path} {what}",
        code="target_function",
        details={"defines": ", ".join(public[:12]) or "nothing public"},
        hint=f"did you mean {' or '.join(options)}?"
        if options
        else f"name one of its functions: {path}:NAME",
    )


def _close(word: str, words: list[str], cutoff: float) -> list[str]:
    import difflib  # noqa: PLC0415 - only when something was not found

    return difflib.get_close_matches(word, words, 3, cutoff)


def _not_found(path: Path, text: str) -> TargetError:
    parent = path.parent
    try:
        names = sorted(
            one.name for one in parent.iterdir() if one.is_dir() or one.suffix == ".py"
        )
    except OSError:
        names = []
    candidates = [path.name, path.name + ".py"]
    near = [match for name in candidates for match in _close(name, names, 0.6)]
    options = list(dict.fromkeys(str(parent / name) for name in near))
    return TargetError(
        f"there is no {text or path}",
        code="target_not_found",
        hint=f"did you mean {' or '.join(options[:3])}?"
        if options
        else "a target is path/to/program.py:function or a program directory",
    )


def find_interpreter(python: str | None, target: Target) -> Interpreter:
    """Choose the interpreter and learn its version.

    Args:
        python: A path or a name on the search path; None takes this interpreter, or
            for a package of another version the ``python3.N`` of the search path.
        target: The program, whose manifest may ask for a version.

    Raises:
        TargetError: There is none, or it is not the one the package needs.
    """
    wanted = target.manifest.python if target.manifest else None
    here = Interpreter(sys.executable, "{}.{}".format(*sys.version_info[:2]))
    if python is None and wanted in (None, here.version):
        return here
    found = _ask(python or f"python{wanted}", wanted)
    if wanted is not None and found.version != wanted:
        raise TargetError(
            f"the package needs Python {wanted}",
            code="python_mismatch",
            kind="incompatible",
            details={"interpreter": found.path, "version": found.version},
            hint=f"give --python python{wanted}, or change the manifest",
        )
    return found


def _ask(python: str, wanted: str | None) -> Interpreter:
    import shutil  # noqa: PLC0415 - only for another interpreter than this

    path = shutil.which(python)
    if path is None:
        raise TargetError(
            f"there is no interpreter {python!r}",
            code="python_not_found",
            kind="incompatible" if wanted else "invalid_input",
            details={"needed": f"Python {wanted}"} if wanted else None,
            hint="give --python PATH",
        )
    try:
        done = subprocess.run(
            [path, "-I", "-S", "-c", _VERSION_CODE],
            capture_output=True,
            check=True,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=_VERSION_SECONDS,
        )
        name, version = done.stdout.split()
        number = tuple(map(int, version.split(".")))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise TargetError(
            f"{python} does not answer like a Python",
            code="python_unusable",
            details={
                "interpreter": path,
                "problem": type(error).__name__,
                **({"needed": f"Python {wanted}"} if wanted else {}),
            },
            hint=f"give --python PATH of a CPython {wanted or '3.11 or newer'}",
        ) from error
    if name != "cpython" or number < (3, 11):
        raise TargetError(
            f"{path} is {name} {version}; a runner needs CPython 3.11 or newer",
            code="python_unusable",
            kind="incompatible",
        )
    return Interpreter(str(Path(path).absolute()), version)
