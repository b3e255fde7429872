"""The command line of a runner (runner-protocol.md, section 1).

Not argparse: it would cost a tenth of the start. Text in, values or an error out.
"""

import os
import sys

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_FRAME_BYTES = 2_097_152
SMALLEST_FRAME_BYTES = 256

USAGE = (
    "usage: bootstrap.py --package-root DIR --handler MODULE:FUNCTION\n"
    "                    --python-version MAJOR.MINOR [--protocol-version {1,2,3}]\n"
    "                    [--max-input-bytes N] [--max-output-bytes N]\n"
)
HELP = f"""{USAGE}
Run a prepared Ledgence program: JSON lines in on standard input, out on standard
output. A worker starts it as `python -I -S -B bootstrap.py ...`; to run a program
by hand use `ledgence-local run`.

options:
  --package-root DIR         the folder of the prepared program
  --handler MODULE:FUNCTION  what to call for each event
  --python-version X.Y       must be this interpreter's, {sys.version_info[0]}.\
{sys.version_info[1]}
  --protocol-version N       1 (default), 2 or 3
  --max-input-bytes N        longest input line, newline included
                             (at least {SMALLEST_FRAME_BYTES}; {DEFAULT_FRAME_BYTES})
  --max-output-bytes N       longest output line, likewise
  -h, --help                 show this text

exit status: 0 after the end of the input, 2 for a wrong command line, 70 when the
start is refused or the protocol is violated; the program's own if it exits.
"""


class UsageError(Exception):
    """The command line cannot be understood: status 2."""


class StartRefused(Exception):
    """The start is refused before the ready frame: status 70."""


class Options:
    """What the command line says, parsed and not yet checked further."""

    __slots__ = (
        "handler",
        "max_input_bytes",
        "max_output_bytes",
        "package_root",
        "protocol",
        "python_version",
        "show_help",
    )

    def __init__(self) -> None:
        self.show_help = False
        self.package_root = ""
        self.handler = ""
        self.python_version = ""
        self.protocol = 1
        self.max_input_bytes = DEFAULT_FRAME_BYTES
        self.max_output_bytes = DEFAULT_FRAME_BYTES


_REQUIRED = ("--package-root", "--handler", "--python-version")
_OPTIONAL = ("--protocol-version", "--max-input-bytes", "--max-output-bytes")


def parse(arguments: "Sequence[str]") -> Options:
    """Read the command line.

    Raises:
        UsageError: An option is missing, unknown, without its value, or its value is
            not the number that it must be.
    """
    options = Options()
    given: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument in ("-h", "--help"):
            options.show_help = True
            return options
        name, equals, value = argument.partition("=")
        if name not in _REQUIRED and name not in _OPTIONAL:
            raise UsageError(f"unrecognized argument: {argument}")
        if not equals:
            following = next(rest, None)
            if following is None or following.startswith("--"):
                raise UsageError(f"argument {name}: expected one value")
            value = following
        given[name] = value
    missing = [name for name in _REQUIRED if name not in given]
    if missing:
        raise UsageError(f"these arguments are required: {', '.join(missing)}")
    options.package_root, options.handler, options.python_version = (
        given[name] for name in _REQUIRED
    )
    options.protocol = _protocol(given.get("--protocol-version", "1"))
    for name in ("max_input_bytes", "max_output_bytes"):
        flag = f"--{name.replace('_', '-')}"
        if flag in given:
            setattr(options, name, _integer(flag, given[flag]))
    return options


def _integer(name: str, text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        raise UsageError(f"argument {name}: not an integer: {text!r}")
    return int(text)


def _protocol(text: str) -> int:
    if text not in ("1", "2", "3"):
        raise UsageError(f"argument --protocol-version: {text!r} is not 1, 2 or 3")
    return int(text)


def check_limits(options: Options) -> None:
    """Step 3 of the start.

    Raises:
        StartRefused: A line limit is below 256 bytes.
    """
    smallest = min(options.max_input_bytes, options.max_output_bytes)
    if smallest < SMALLEST_FRAME_BYTES:
        raise StartRefused(
            f"a line limit of {smallest} bytes is too small: at least"
            f" {SMALLEST_FRAME_BYTES} are needed"
        )


def check_interpreter(wanted: str) -> str:
    """Step 4 of the start; the interpreter's MAJOR.MINOR.

    Raises:
        StartRefused: Not CPython 3.11 or later, or not exactly the version wanted.
    """
    running = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if sys.implementation.name != "cpython" or sys.version_info < (3, 11):
        raise StartRefused(
            f"{sys.implementation.name} {running} cannot run programs:"
            " CPython 3.11 or later is needed"
        )
    if wanted != running:
        raise StartRefused(
            f"this is Python {running}, the program needs {wanted!r} (MAJOR.MINOR)"
        )
    return running


def resolve_root(package_root: str) -> str:
    """Step 5 of the start: the artifact's absolute path without symlinks.

    Raises:
        StartRefused: It does not exist, or is not a directory.
    """
    try:
        root = os.path.realpath(package_root, strict=True)
    except (OSError, ValueError) as error:
        raise StartRefused(f"the package root cannot be resolved: {error}") from None
    if not os.path.isdir(root):
        raise StartRefused(f"the package root is not a directory: {root}")
    return root


def split_handler(text: str) -> tuple[str, str]:
    """Step 6 of the start: the module's name and the function's.

    Raises:
        StartRefused: Not dotted identifiers, one colon and an identifier.
    """
    module, colon, function = text.partition(":")
    parts = [*module.split("."), function]
    if not colon or not all(part.isidentifier() for part in parts):
        raise StartRefused(f"the handler {text!r} is not MODULE:FUNCTION")
    return module, function
