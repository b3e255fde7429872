"""The events of a run: one value from ``--data``, or one a line from a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ledgence.local._errors import InputError
from ledgence.local._json import decode_data
from ledgence.local._limits import DATA_BYTES
from ledgence.local._lines import LineOverflow, Lines

__all__ = ["Input", "Inputs", "one_value", "open_events"]

# A line may be spelled more widely than the compact form that is measured.
_LINE_BYTES = 6 * DATA_BYTES + 2
_CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class Input:
    """The data of one event, or why there is none.

    Attributes:
        line: The line of the file, from 1; None for ``--data``.
        position: How many bytes of the source have been read.
    """

    data: object = None
    problem: InputError | None = None
    line: int | None = None
    position: int = 0


@dataclass(frozen=True, slots=True)
class Inputs:
    """A source of events.

    Attributes:
        read: Returns the inputs; its argument is called with the descriptor before
            each read that may take long.
        many: Whether it may hold more than one.
        size: The bytes of a regular file, else None.
    """

    read: Callable[[Callable[[int], None]], Iterator[Input]]
    many: bool
    size: int | None = None


def one_value(text: str) -> Inputs:
    """Return the single event of ``--data JSON``, ``--data @file`` or ``--data -``.

    Raises:
        InputError: The file cannot be read or the value is no JSON.
    """
    if text == "-":
        data = _read_all(0, "standard input")
    elif text.startswith("@"):
        data = _read_file(Path(text[1:]))
    else:
        data = text.encode(errors="surrogateescape")
    try:
        value = decode_data(data)
    except InputError as error:
        if not text.startswith(("@", "-")) and Path(text).is_file():
            error.hint = f"to read the file, write --data @{text}"
        raise
    return Inputs(lambda _wait: iter([Input(value)]), many=False)


def _read_file(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise _unreadable(str(path), error) from error
    try:
        return _read_all(descriptor, str(path))
    finally:
        os.close(descriptor)


def _read_all(descriptor: int, name: str) -> bytes:
    """Read to the end, but no more than any data can need."""
    parts: list[bytes] = []
    size = 0
    try:
        while data := os.read(descriptor, _CHUNK):
            parts.append(data)
            size += len(data)
            if size > _LINE_BYTES:
                raise _overlong()
    except OSError as error:
        raise _unreadable(name, error) from error
    return b"".join(parts)


def open_events(path: str) -> Inputs:
    """Return the events of ``--events FILE``; ``-`` is standard input.

    Raises:
        InputError: The file cannot be opened.
    """
    if path == "-":
        return Inputs(lambda wait: _read_lines(0, wait), many=True)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        size = os.fstat(descriptor).st_size if Path(path).is_file() else None
        os.read(descriptor, 0)  # a directory can be opened but not read
    except OSError as error:
        raise _unreadable(path, error) from error
    return Inputs(lambda wait: _read_and_close(descriptor, wait), many=True, size=size)


def _read_and_close(descriptor: int, wait: Callable[[int], None]) -> Iterator[Input]:
    try:
        yield from _read_lines(descriptor, wait)
    finally:
        os.close(descriptor)


def _read_lines(descriptor: int, wait: Callable[[int], None]) -> Iterator[Input]:
    lines = Lines(_LINE_BYTES, resume=True)
    number = position = 0
    ended = False
    while not ended:
        wait(descriptor)
        try:
            data = os.read(descriptor, _CHUNK)
        except OSError as error:
            yield Input(problem=_unreadable("the input", error), line=number + 1)
            return
        position += len(data)
        ended = not data
        # The last line may lack its newline.
        lines.feed(data or b"\n")
        while (one := _next_line(lines)) is not None:
            number += 1
            if one.strip(b" \t\r\n"):
                yield _decode(one, number, position)


_OVERLONG = b"?"


def _next_line(lines: Lines) -> bytes | None:
    try:
        return lines.next()
    except LineOverflow:
        return _OVERLONG


def _decode(line: bytes, number: int, position: int) -> Input:
    try:
        if line is _OVERLONG:
            raise _overlong()
        value = decode_data(line)
    except InputError as problem:
        problem.details = {"line": number, **problem.details}
        return Input(problem=problem, line=number, position=position)
    return Input(value, line=number, position=position)


def _overlong() -> InputError:
    return InputError(
        "the data is larger than the service accepts",
        code="data_bytes",
        details={"limit": DATA_BYTES},
        hint="store it elsewhere and pass a reference",
    )


def _unreadable(path: str, error: OSError) -> InputError:
    return InputError(
        f"{path} cannot be read: {error.strerror}",
        code="input_unreadable",
        hint=None if Path(path).parent.is_dir() else "its directory does not exist",
    )
