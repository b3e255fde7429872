"""One runner process from its start to its end (runner-protocol.md, 1, 6, 10, 15).

What the ready frame does not need is imported after it, while the parent is still
busy with taking notice.
"""

import os
import sys

from ledgence.worker import _process, _stdlib
from ledgence.worker._runner import handlers, options
from ledgence.worker._runner.channel import Channel, LineReader
from ledgence.worker._runner.writer import PlainWriter, SharedWriter

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


def main(arguments: "Sequence[str]", source: int, sink: int) -> int:
    """Run a program until the input ends; the exit status.

    Args:
        arguments: The command line without the script.
        source: The private descriptor to read frames from.
        sink: The private descriptor to write frames to.

    Raises:
        Exception: A refused start or a protocol fault: status 70.
        BaseException: What escaped from the program and is no ``Exception``.
    """
    try:
        flags = options.parse(arguments)
    except options.UsageError as error:
        sys.stderr.write(f"{options.USAGE}bootstrap.py: error: {error}\n")
        return 2
    if flags.show_help:
        sys.stderr.write(options.HELP)
        return 0
    options.check_limits(flags)
    python = options.check_interpreter(flags.python_version)
    root = options.resolve_root(flags.package_root)
    module, function = options.split_handler(flags.handler)

    channel = Channel(source, sink)
    version = flags.protocol
    writer: PlainWriter | SharedWriter
    if version == 1:
        writer = PlainWriter(channel)
    else:
        writer = SharedWriter(channel, version, flags.max_output_bytes)
        _process.sink = writer
    _stdlib.reserve(version)
    sys.path.insert(0, root)
    handler = handlers.resolve(root, module, function, allow_async=version >= 3)
    channel.stop_child()
    writer.control(ready(version, os.getpid(), python))
    session = Session(channel, writer, version)
    lines = LineReader(channel, flags.max_input_bytes)
    try:
        return session.serve(lines, handler, flags.max_output_bytes)
    finally:
        writer.flush()  # also when something ends the process in another way


def ready(version: int, process_id: int, python: str) -> bytes:
    """The first frame; made without the JSON profile, which is not loaded yet."""
    members = version, process_id, python.encode()
    return b'{"v":%d,"type":"ready","pid":%d,"python_version":"%b"}\n' % members


def closing(version: int) -> bytes:
    """The last frame."""
    return b'{"v":%d,"type":"closing"}\n' % version


class Session:
    """The idle loop and the shutdown."""

    def __init__(
        self, channel: Channel, writer: PlainWriter | SharedWriter, version: int
    ) -> None:
        self._channel = channel
        self._writer = writer
        self._version = version

    def serve(
        self, lines: LineReader, handler: "Callable[[Any], Any]", limit: int
    ) -> int:
        """Answer invocations until the input ends or a shutdown comes.

        Raises:
            ProtocolFault: The parent violated the protocol.
            OSError: A descriptor of the protocol is broken.
        """
        from ledgence.worker._runner import frames  # noqa: PLC0415 - after ready

        run = self._invoker(lines, handler, limit)
        write, version = self._writer.control, self._version
        while True:
            line = lines.readline()
            if not line:
                return 0
            call = frames.read(line, version)
            del line  # it may be as large as all that follows
            if call is None:
                return self._shut_down(lines)
            write(run(call))
            del call

    def _invoker(
        self, lines: LineReader, handler: "Callable[[Any], Any]", limit: int
    ) -> "Callable[[Any], bytes]":
        if self._version < 3:
            from ledgence.worker._runner.invoke import Invoker  # noqa: PLC0415 # by protocol

            return Invoker(handler, self._channel, limit).run
        from ledgence.worker._runner.looped import LoopInvoker  # noqa: PLC0415 # loads asyncio

        return LoopInvoker(handler, self._channel, limit, self._writer, lines).run

    def _shut_down(self, lines: LineReader) -> int:
        """Run the callbacks, say closing, and stay until the input ends."""
        if self._version >= 2:
            for callback in list(_process.shutdown_callbacks):
                try:
                    callback()
                except Exception as error:  # noqa: BLE001 - the others still run
                    from ledgence.worker._runner import tracebacks  # noqa: PLC0415 # rare

                    tracebacks.report(error)
                self._channel.stop_child()
        self._writer.close(closing(self._version))
        lines.discard()
        return 0
