"""One traceback on standard error, in one write.

The text is that of the standard ``traceback`` module. Its slow part, the lines of
a frame, is kept per place in the code, so that a handler that fails again and again
pays for it once.
"""

import os
import sys

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from types import CodeType, TracebackType

_MAX_PLACES = 256
_MAX_REPEATED = 3  # as the traceback module shows them
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

# These have suggestions or several lines.
_ELABORATE = (
    SyntaxError,
    BaseExceptionGroup,
    NameError,
    AttributeError,
    ImportError,
)

_places: "dict[tuple[CodeType, int], str]" = {}

_CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
_CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"


def report(error: BaseException) -> None:
    """Print an exception's traceback without the runner's own first frames.

    Never raises an ``Exception``: a program may have closed its standard error.
    """
    try:
        text = render(error)
        sys.stderr.write(text)
        sys.stderr.flush()
    except Exception:  # noqa: BLE001, S110 - a traceback is for reading, not for failing
        pass


def render(error: BaseException) -> str:
    """The text of an exception with its causes."""
    chain: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None:
        if id(current) in seen or not _is_simple(current):
            return _by_the_book(error)
        seen.add(id(current))
        head = "Traceback (most recent call last):\n" if current.__traceback__ else ""
        chain.append(head + _frames(current.__traceback__) + _last_line(current))
        if current.__cause__ is not None:
            chain.append(_CAUSE)
            current = current.__cause__
        elif current.__context__ is not None and not current.__suppress_context__:
            chain.append(_CONTEXT)
            current = current.__context__
        else:
            current = None
    return "".join(reversed(chain))


def _is_simple(error: BaseException) -> bool:
    """Whether the last line is all that follows the frames."""
    return not isinstance(error, _ELABORATE) and not hasattr(error, "__notes__")


def _by_the_book(error: BaseException) -> str:
    """Groups, notes, suggestions, cycles: everything that has a text of its own."""
    from traceback import TracebackException  # noqa: PLC0415 - slow to import

    return "".join(
        TracebackException(
            type(error), error, _skip_ours(error.__traceback__), compact=True
        ).format()
    )


def _skip_ours(trace: "TracebackType | None") -> "TracebackType | None":
    first = trace
    while first is not None:
        if not first.tb_frame.f_code.co_filename.startswith(_OURS):
            return first
        first = first.tb_next
    return trace


def _frames(trace: "TracebackType | None") -> str:
    lines: list[str] = []
    last, repeated = "", 0
    trace = _skip_ours(trace)
    while trace is not None:
        text = _place(trace)
        if text != last:
            _tell_repeated(lines, repeated)
            last, repeated = text, 0
        repeated += 1
        if repeated <= _MAX_REPEATED:
            lines.append(text)
        trace = trace.tb_next
    _tell_repeated(lines, repeated)
    return "".join(lines)


def _tell_repeated(lines: list[str], repeated: int) -> None:
    more = repeated - _MAX_REPEATED
    if more > 0:
        lines.append(f"  [Previous line repeated {more} more time{'s' * (more > 1)}]\n")


def _place(trace: "TracebackType") -> str:
    code = trace.tb_frame.f_code
    key = code, trace.tb_lasti
    text = _places.get(key)
    if text is None:
        from traceback import extract_tb  # noqa: PLC0415 - slow to import

        text = "".join(extract_tb(trace, 1).format())
        if len(_places) >= _MAX_PLACES:
            _places.clear()
        _places[key] = text
    return text


def _last_line(error: BaseException) -> str:
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ not in ("__main__", "builtins"):
        name = f"{kind.__module__}.{name}"
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - as the traceback module says it
        text = "<exception str() failed>"
    return f"{name}: {text}\n" if text else f"{name}\n"
