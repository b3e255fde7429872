"""RFC 3339 date-times of events, leap seconds included (workflow-wire.md 4.3)."""

from __future__ import annotations

_DIGITS = "0123456789"
_SHAPE = "0000-00-00T00:00:00"
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MINUTES_OF_A_DAY = 24 * 60


def is_timestamp(text: str) -> bool:
    """Tell whether a text is an RFC 3339 date-time."""
    fields = _fields(text)
    offset = _offset(text[19:])
    if fields is None or offset is None:
        return False
    year, month, day, hour, minute, second = fields
    if not (1 <= month <= 12 and 1 <= day <= _days(year, month)):
        return False
    if hour > 23 or minute > 59:
        return False
    if second < 60:
        return True
    return second == 60 and _before_a_month(
        year, month, day, hour * 60 + minute - offset
    )


def _fields(text: str) -> tuple[int, ...] | None:
    """Read year to second from the fixed part, the first 19 characters."""
    if len(text) < 20:
        return None
    for char, shape in zip(text, _SHAPE, strict=False):
        if shape == "0":
            if char not in _DIGITS:
                return None
        elif char != shape and (char, shape) != ("t", "T"):
            return None
    starts = (5, 8, 11, 14, 17)
    return int(text[:4]), *(int(text[start : start + 2]) for start in starts)


def _offset(text: str) -> int | None:
    """Read ``[.digits]offset``, the rest after the seconds, as minutes from UTC."""
    if text[:1] == ".":
        rest = text[1:].lstrip(_DIGITS)
        if len(rest) == len(text) - 1:
            return None
        text = rest
    if text in ("Z", "z"):
        return 0
    if len(text) != 6 or text[0] not in "+-" or text[3] != ":":
        return None
    hours, minutes = text[1:3], text[4:]
    if (hours + minutes).strip(_DIGITS):
        return None
    if int(hours) > 23 or int(minutes) > 59:
        return None
    total = int(hours) * 60 + int(minutes)
    return -total if text[0] == "-" else total


def _days(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and leap else _DAYS[month - 1]


def _before_a_month(year: int, month: int, day: int, minutes: int) -> bool:
    """Tell whether the minute, counted in UTC, is the last of a month.

    ``minutes`` counts from the start of the local day and may leave it.
    """
    shift, minute = divmod(minutes, _MINUTES_OF_A_DAY)
    if minute != _MINUTES_OF_A_DAY - 1:
        return False
    # An offset is less than a day, so at most one day is crossed.
    last = _days(year, month)
    return day + shift == last or day + shift == 0
