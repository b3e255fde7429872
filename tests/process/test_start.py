"""The start: command line, refusals, descriptors, import environment."""

import subprocess
import sys

import pytest

from tests.support.runner import BOOTSTRAP, PYTHON_VERSION

ECHO = """
def handle(event):
    return event["data"]
"""


def run(artifact, *arguments, stdin=b"", **options):
    """Start the script with exactly these arguments."""
    return subprocess.run(
        [sys.executable, "-I", "-S", "-B", str(BOOTSTRAP), *arguments],
        input=stdin,
        capture_output=True,
        timeout=60,
        **options,
    )


def required(folder):
    return {
        "--package-root": str(folder),
        "--handler": "program:handle",
        "--python-version": PYTHON_VERSION,
    }


def spread(options):
    return [text for pair in options.items() for text in pair]


@pytest.mark.parametrize("missing", ["--package-root", "--handler", "--python-version"])
def test_a_missing_option_is_a_usage_error(artifact, missing):
    options = required(artifact(ECHO))
    del options[missing]
    done = run(artifact, *spread(options))
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"usage:" in done.stderr
    assert missing.encode() in done.stderr


@pytest.mark.parametrize(
    "extra",
    [
        ["--unknown", "1"],
        ["stray"],
        ["--protocol-version", "4"],
        ["--protocol-version", ""],
        ["--protocol-version"],
        ["--max-input-bytes", "1k"],
        ["--max-output-bytes", "٣٠٠"],
        ["--max-output-bytes", "--handler"],
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_is_a_usage_error(artifact, extra):
    done = run(artifact, *spread(required(artifact(ECHO))), *extra)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"error:" in done.stderr


def test_help_goes_to_standard_error_and_is_no_failure(artifact):
    done = run(artifact, "--help")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"--max-output-bytes" in done.stderr


@pytest.mark.parametrize("size", ["255", "0", "-5"])
@pytest.mark.parametrize("option", ["--max-input-bytes", "--max-output-bytes"])
def test_a_limit_under_256_bytes_refuses_the_start(artifact, option, size):
    done = run(artifact, *spread(required(artifact(ECHO))), option, size)
    assert (done.returncode, done.stdout) == (70, b"")
    assert b"too small" in done.stderr


@pytest.mark.parametrize(
    "wanted", ["3", "3.7", f"{PYTHON_VERSION}.0", f"0{PYTHON_VERSION}"]
)
def test_the_python_version_is_compared_as_text(artifact, wanted):
    options = required(artifact(ECHO)) | {"--python-version": wanted}
    done = run(artifact, *spread(options))
    assert (done.returncode, done.stdout) == (70, b"")


@pytest.mark.parametrize("root", ["absent", "program.py", "loop"])
def test_a_package_root_that_is_no_directory_refuses_the_start(artifact, root):
    folder = artifact(ECHO)
    (folder / "loop").symlink_to("loop")
    options = required(folder) | {"--package-root": str(folder / root)}
    done = run(artifact, *spread(options))
    assert (done.returncode, done.stdout) == (70, b"")
    assert b"package root" in done.stderr


@pytest.mark.parametrize(
    "handler",
    ["program", "program:", ":handle", "a:b:c", "program:a.b", "pro gram:handle", ".:h",
     "a..b:h", "1a:h"],
)  # fmt: skip
def test_a_handler_text_that_is_no_name_refuses_the_start(artifact, handler):
    options = required(artifact(ECHO)) | {"--handler": handler}
    done = run(artifact, *spread(options))
    assert (done.returncode, done.stdout) == (70, b"")
    assert b"MODULE:FUNCTION" in done.stderr


def test_nothing_of_the_program_runs_before_the_command_line_is_accepted(artifact):
    folder = artifact("import os; os.write(2, b'imported'); handle = print")
    done = run(artifact, *spread(required(folder)), "--max-input-bytes", "1")
    assert b"imported" not in done.stderr


def test_the_script_switches_bytecode_off_without_the_flag(artifact):
    folder = artifact({"program.py": "import other\nhandle = print", "other.py": ""})
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(BOOTSTRAP), *spread(required(folder))],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert not list(folder.rglob("__pycache__"))


def test_a_start_without_isolation_keeps_the_script_folder_off_the_path(launch):
    program = """
    import sys
    def handle(event):
        folders = ("ledgence/worker", "tests/support")
        return [path for path in sys.path if path.endswith(folders)]
    """
    assert launch(program, flags=["-S", "-B"]).ready().output() == []


def test_closed_descriptors_refuse_the_start(artifact):
    folder = artifact(ECHO)
    command = [
        sys.executable,
        "-I",
        "-S",
        "-B",
        str(BOOTSTRAP),
        *spread(required(folder)),
    ]
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" <&- 2>&1', "sh", *command],
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 70
    assert b"Bad file descriptor" in done.stdout


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_ready_comes_before_anything_is_sent(launch, protocol):
    runner = launch(ECHO, protocol).ready()
    assert runner.finish() == ([], 0)


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_a_program_that_fails_to_import_refuses_the_start(launch, protocol):
    runner = launch("raise LookupError('broken program')", protocol)
    assert runner.finish() == ([], 70)
    assert "broken program" in runner.errors()
    assert "program.py" in runner.errors()


@pytest.mark.parametrize("protocol", [1, 2, 3])
@pytest.mark.parametrize(
    ("leave", "status"),
    [("3", 3), ("", 0), ("None", 0), ("'a reason'", 1), ("False", 0)],
)
def test_a_program_that_exits_while_imported_has_its_own_status(
    launch, protocol, leave, status
):
    runner = launch(f"import sys; sys.exit({leave})", protocol)
    assert runner.finish() == ([], status)


@pytest.mark.parametrize("protocol", [1, 2])
@pytest.mark.parametrize(
    "definition",
    [
        "async def handle(event): pass",
        "class A:\n    async def m(self, event): pass\nhandle = A().m",
        "import functools\nasync def f(event): pass\nhandle = functools.partial(f)",
    ],
    ids=["function", "method", "partial"],
)
def test_async_handlers_need_protocol_3(launch, protocol, definition):
    runner = launch(definition, protocol)
    assert runner.finish() == ([], 70)
    assert "protocol version 3" in runner.errors()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the mark is new in 3.12")
def test_a_function_marked_as_coroutine_function_is_async(launch):
    program = "import inspect\n@inspect.markcoroutinefunction\ndef handle(event): pass"
    assert launch(program).finish() == ([], 70)
