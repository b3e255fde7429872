"""Build arrangement of the optional compiled twin; the rest is in pyproject.toml.

``LEDGENCE_BUILD_NATIVE`` governs the build of ``ledgence.worker._profile_c``:

* ``auto`` (default): try; without a compiler the result is an honest pure wheel;
* ``1``: fail when it cannot be built (implied by ``CIBUILDWHEEL``);
* ``0``: do not try.

A mistake in the Cython sources fails every build that tries. The build runs in two
passes: where the compiler fails, ``setup()`` runs again without the extension, so that
the wheel is tagged for what is in it. (``Extension(optional=True)`` alone would give a
wheel for one platform with nothing of it inside.)

``LEDGENCE_BUILD_KIND`` is for those who work on the twin:

* ``release`` (default): optimised, without debugging symbols;
* ``debug``: assertions on, every warning an error;
* ``scalar``: without vector instructions, as on processors that have none of ours;
* ``sanitize``: AddressSanitizer and UBSan; needs ``LD_PRELOAD``, see .ci/sanitize.py;
* ``trace``: line tracing for coverage; slow, never to be measured or shipped.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

KINDS = {
    "release": (["-O3", "-g0"], []),
    "debug": (["-O0", "-g3", "-UNDEBUG", "-Wall", "-Wextra", "-Werror"], []),
    "scalar": (["-O2", "-g0", "-U__SSE2__"], []),
    "sanitize": (
        [
            "-O1",
            "-g3",
            "-UNDEBUG",
            "-fno-omit-frame-pointer",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=undefined",
        ],
        ["-fsanitize=address,undefined"],
    ),
    "trace": (["-O0", "-g0"], []),
}

# The commands that make no binary: nothing is compiled for them.
SOURCE_COMMANDS = {"egg_info", "dist_info", "sdist", "clean", "--version", "--name"}


class BuildFailedError(Exception):
    """The compiler or the linker is missing or has failed."""


class BuildNative(build_ext):
    """Tell a failing compiler from every other failure."""

    def run(self) -> None:
        """Build; whatever the compiler may raise becomes BuildFailedError."""
        try:
            super().run()
        except Exception as error:
            raise BuildFailedError(str(error)) from error


def wanted() -> str:
    """Return ``auto``, ``1`` or ``0``."""
    choice = os.environ.get("LEDGENCE_BUILD_NATIVE") or "auto"
    if choice not in ("auto", "1", "0"):
        sys.exit(f"LEDGENCE_BUILD_NATIVE must be auto, 1 or 0, not {choice!r}")
    if choice == "auto" and os.environ.get("CIBUILDWHEEL", "0") not in ("", "0"):
        return "1"
    return choice


def extensions(kind: str) -> list[Any]:
    """Translate the Cython sources and describe how to compile them."""
    # A source archive and a pure wheel are made without it.
    from Cython.Build import cythonize  # noqa: PLC0415 - may be absent

    compile_args, link_args = KINDS[kind]
    macros: list[tuple[str, str | None]] = []
    if kind == "trace":
        macros.append(("CYTHON_TRACE_NOGIL", "1"))
    extension = Extension(
        "ledgence.worker._profile_c",
        ["native/_profile_c.pyx"],
        include_dirs=["native"],
        depends=[str(path) for path in sorted(Path("native").glob("*.[hp]*"))],
        define_macros=macros,
        extra_compile_args=[] if sys.platform == "win32" else compile_args,
        extra_link_args=[] if sys.platform == "win32" else link_args,
    )
    # Coverage finds the generated C only beside its source.
    directory = None if kind == "trace" else f"build/native-{kind}"
    return cythonize(
        extension,
        build_dir=directory,
        compiler_directives={"linetrace": kind == "trace"},
    )


def banner(text: str) -> None:
    """Say which kind of distribution this is."""
    print(f"{'=' * 70}\n{text}\n{'=' * 70}", flush=True)


def main() -> None:
    """Run setup() with the extension where it can be had."""
    choice = wanted()
    kind = os.environ.get("LEDGENCE_BUILD_KIND") or "release"
    if kind not in KINDS:
        sys.exit(f"LEDGENCE_BUILD_KIND must be one of {', '.join(KINDS)}, not {kind!r}")
    if SOURCE_COMMANDS.intersection(sys.argv):
        setup()
        return
    reason = "LEDGENCE_BUILD_NATIVE=0"
    if choice != "0":
        try:
            setup(ext_modules=extensions(kind), cmdclass={"build_ext": BuildNative})
        except (BuildFailedError, ImportError) as error:
            if choice == "1":
                raise
            reason = str(error)
        else:
            banner(f"ledgence-worker: built the native twin ({kind})")
            return
    setup()
    banner(f"ledgence-worker: PURE PYTHON, without the native twin\n{reason}")


main()
