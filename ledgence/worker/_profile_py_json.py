"""What the pure twin takes from the standard library's JSON.

The accelerator module is used directly: ``json`` itself would load ``re`` and
``enum`` before the program's handler is resolved. Where there is no accelerator the
twin writes its text itself and decodes with ``json``, slower and to the same effect.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing is not imported at run time: the start-up budget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, NoReturn

    Encoder = Callable[[Any, int], Iterable[str]]
    Scanner = Callable[[str, int], tuple[Any, int]]

    # Both accelerator and substitute are untyped as far as they are used here.
    _accelerator: Any
    _json_decoder: Any
    quote: Callable[[str], str]  # a text's JSON token; non-ASCII is left as it is
else:
    try:
        import _json as _accelerator
        from _json import encode_basestring as quote
    except ImportError:
        _accelerator = None
        import json.decoder as _json_decoder
        from json.encoder import py_encode_basestring as quote

__all__ = ["Hooks", "encoder", "quote", "scanner", "utf8", "utf8_size"]

_PIECE = 1 << 14


class Hooks:
    """The context that a scanner reads once: what it calls for which token."""

    def __init__(
        self,
        *,
        parse_constant: Callable[[str], Any],
        object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
        parse_int: Callable[[str], int] = int,
    ) -> None:
        self.strict = True
        self.object_hook = None
        self.object_pairs_hook = object_pairs_hook
        self.parse_float = float
        self.parse_int = parse_int
        self.parse_constant = parse_constant


def scanner(hooks: Hooks) -> Scanner:
    """A decoder of the one value that begins at a place of a text.

    It returns the value and the place after it. It raises ``StopIteration`` or
    ``ValueError`` for what is no JSON.
    """
    if _accelerator is not None:
        scan: Scanner = _accelerator.make_scanner(hooks)
        return scan
    substitute: Scanner = _json_decoder.JSONDecoder(
        object_pairs_hook=hooks.object_pairs_hook,
        parse_int=hooks.parse_int,
        parse_constant=hooks.parse_constant,
    ).scan_once
    return substitute


def encoder(*, ordered: bool) -> Encoder | None:
    """An encoder to parts of compact text, if there is an accelerator.

    It is for values that are checked already: it does not look for cycles. It raises
    ``ValueError`` for NaN and the infinities, and for what is no JSON value.
    """
    if _accelerator is None:
        return None
    make: Callable[..., Encoder] = _accelerator.make_encoder
    return make(None, _refuse, quote, None, ":", ",", ordered, False, False)


def _refuse(_item: Any) -> NoReturn:
    # Another thread has put it there after the check.
    raise ValueError


def utf8(text: str) -> bytes:
    """The UTF-8 of a text.

    Raises:
        UnicodeEncodeError: There is a surrogate in the text.
    """
    if len(text) <= _PIECE or text.isascii():
        return text.encode()
    return b"".join(_pieces(text))


def utf8_size(text: str) -> int:
    """The length of ``utf8`` of a text, which may be very long; the same errors."""
    return len(text) if text.isascii() else sum(map(len, _pieces(text)))


def _pieces(text: str) -> Iterator[bytes]:
    # At once the interpreter would take up to four bytes for each code point.
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE].encode()
