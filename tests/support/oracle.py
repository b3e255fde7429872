"""The JSON profile written down once more: slow, recursive, and obviously right.

Each function follows the text of the contract clause by clause and shares no code with
the twins. It is for values of moderate size; nothing here is bounded in memory.
"""

import hashlib
import math

INT_MIN, INT_MAX = -(2**63), 2**64 - 1


class Refused(Exception):
    def __init__(self, reason, path=None, limit=None, size=None):
        super().__init__(reason, path, limit, size)
        self.reason, self.path, self.limit, self.size = reason, path, limit, size


def path_text(steps):
    return "$" + "".join(map(_step, steps))


def _step(step):
    if isinstance(step, int):
        return f"[{step}]"
    name = step if len(step) <= 64 else step[:64] + "..."
    head, tail = name[:1], name[1:]
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
    if head and head in letters and all(c in letters + "0123456789" for c in tail):
        return "." + name
    return '["' + "".join(map(_ascii_escape, name)) + '"]'


def _ascii_escape(char):
    short = {'"': '"', "\\": "\\", "\b": "b", "\t": "t", "\n": "n", "\f": "f"}
    short["\r"] = "r"
    if char in short:
        return "\\" + short[char]
    if " " <= char <= "~":
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    pairs = zip(units[::2], units[1::2], strict=True)
    return "".join(f"\\u{high << 8 | low:04x}" for high, low in pairs)


# --- section 2.2: the walk ---


class _Walk:
    def __init__(self, limit, max_depth, *, wire):
        self.limit, self.max_depth, self.wire = limit, max_depth, wire
        self.remaining = math.inf if limit is None else limit
        self.allowance = 0

    def is_a(self, value, kind):
        return issubclass(type(value), kind) if self.wire else type(value) is kind

    def charge(self, size, steps):
        self.remaining -= size
        if self.remaining < 0:
            raise Refused("bytes", path_text(steps), self.limit)

    def string(self, text, steps):
        points = [ord(char) for char in str.__str__(text)]
        if len(points) > self.remaining:
            raise Refused("bytes", path_text(steps), self.limit)
        if any(0xD800 <= point <= 0xDFFF for point in points):
            raise Refused("surrogate", path_text(steps))
        self.charge(sum(map(_utf8_length, points)), steps)

    def visit(self, value, steps, ancestors):
        self.charge(1, steps)
        if value is None or value is True or value is False:
            return
        if self.is_a(value, str):
            self.string(value, steps)
        elif self.is_a(value, int):
            if not INT_MIN <= int.__index__(value) <= INT_MAX:
                raise Refused("int_range", path_text(steps))
        elif self.is_a(value, float):
            number = float.__add__(value, 0.0)
            if math.isnan(number) or math.isinf(number):
                raise Refused("non_finite", path_text(steps))
            self.allowance += max(0, len(float.__repr__(value)) - 3)
        elif any(self.is_a(value, kind) for kind in (dict, list, tuple)):
            if len(ancestors) >= self.max_depth:
                raise Refused("depth", path_text(steps), self.max_depth)
            if any(value is one for one in ancestors):
                raise Refused("cycle", path_text(steps))
            self.children(value, steps, [*ancestors, value])
        else:
            raise Refused("type", path_text(steps))

    def children(self, value, steps, ancestors):
        if not self.is_a(value, dict):
            for index, item in enumerate(value):
                self.visit(item, [*steps, index], ancestors)
            return
        for name, item in value.items():
            if not self.is_a(name, str):
                raise Refused("key_type", path_text(steps))
            self.charge(1, steps)
            self.string(name, steps)
            self.visit(item, [*steps, str.__str__(name)], ancestors)


def _utf8_length(point):
    return 1 + (point >= 0x80) + (point >= 0x800) + (point >= 0x10000)


# --- section 3: the tokens ---


def text_of(value, *, ordered):
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    kind = type(value)
    if issubclass(kind, str):
        return '"' + "".join(map(_escape, str.__str__(value))) + '"'
    if issubclass(kind, int):
        return int.__repr__(value)
    if issubclass(kind, float):
        return float.__repr__(value)
    if issubclass(kind, dict):
        members = [(str.__str__(name), item) for name, item in value.items()]
        if ordered:
            members.sort(key=lambda member: [ord(char) for char in member[0]])
        return (
            "{"
            + ",".join(
                text_of(name, ordered=ordered) + ":" + text_of(item, ordered=ordered)
                for name, item in members
            )
            + "}"
        )
    return "[" + ",".join(text_of(item, ordered=ordered) for item in value) + "]"


def _escape(char):
    short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n"}
    short |= {"\f": "\\f", "\r": "\\r"}
    if char in short:
        return short[char]
    return f"\\u{ord(char):04x}" if char < " " else char


# --- the nine functions ---


def encode(value, limit, *, max_depth=64, received=False):
    walk = _Walk(limit, max_depth, wire=False)
    walk.visit(value, [], [])
    data = text_of(value, ordered=True).encode()
    if len(data) > limit + (walk.allowance if received else 0):
        raise Refused("bytes", "$", limit, len(data))
    return data


def check(value, limit, *, max_depth=64, received=False):
    return len(encode(value, limit, max_depth=max_depth, received=received))


def freeze(value, limit, *, max_depth=64, received=False):
    return thaw(encode(value, limit, max_depth=max_depth, received=received))


def fingerprint(value, limit, *, max_depth=96, received=False):
    data = encode(value, limit, max_depth=max_depth, received=received)
    return hashlib.sha256(data).hexdigest()


def thaw(data):
    return loads(data)


def check_wire(value, *, max_depth=64):
    _Walk(None, max_depth, wire=True).visit(value, [], [])


def encode_frame(value, limit, *, max_depth=65):
    _Walk(limit, max_depth, wire=True).visit(value, [], [])
    data = text_of(value, ordered=False).encode() + b"\n"
    if len(data) > limit:
        raise Refused("bytes", "$", limit, len(data))
    return data


def fit_error(envelope, kind, message, limit, *, status="error"):
    """By trial: every prefix from the longest to the empty one."""
    raw = str.__str__(message)[:512]
    text = "".join("?" if "\ud800" <= char <= "\udfff" else char for char in raw)
    for length in range(len(text), -1, -1):
        error = {"kind": kind, "message": text[:length]}
        frame = dict(envelope, status=status, error=error)
        try:
            encode_frame(frame, limit)
        except Refused as refusal:
            if refusal.reason != "bytes":
                raise
            last = refusal
        else:
            return frame
    raise Refused("bytes", "$", limit, last.size)


# --- section 9: the decoder, one character after the other ---


def loads(line, *, unique=False):
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("utf8") from None
    parser = _Parser(text, unique=unique)
    value = parser.value()
    parser.space()
    if parser.place != len(text):
        raise Refused("syntax")
    return value


class _Parser:
    def __init__(self, text, *, unique):
        self.text, self.place, self.unique = text, 0, unique

    def peek(self):
        return self.text[self.place : self.place + 1]

    def take(self, token):
        if not self.text.startswith(token, self.place):
            return False
        self.place += len(token)
        return True

    def need(self, token):
        if not self.take(token):
            raise Refused("syntax")

    def space(self):
        while self.peek() and self.peek() in " \t\n\r":
            self.place += 1

    def value(self):
        self.space()
        for token, value in (("null", None), ("true", True), ("false", False)):
            if self.take(token):
                return value
        if any(self.take(token) for token in ("NaN", "Infinity", "-Infinity")):
            raise Refused("constant")
        if self.take("["):
            return self.array()
        if self.take("{"):
            return self.object()
        if self.take('"'):
            return self.string()
        return self.number()

    def array(self):
        items = []
        self.space()
        if self.take("]"):
            return items
        while True:
            items.append(self.value())
            self.space()
            if self.take("]"):
                return items
            self.need(",")

    def object(self):
        members, repeated = {}, False
        self.space()
        if self.take("}"):
            return members
        while True:
            self.space()
            self.need('"')
            name = self.string()
            self.space()
            self.need(":")
            repeated = repeated or name in members
            members[name] = self.value()
            self.space()
            if self.take("}"):
                if repeated and self.unique:
                    raise Refused("duplicate")
                return members
            self.need(",")

    def string(self):
        units = []
        while True:
            char = self.peek()
            if not char or char < " ":
                raise Refused("syntax")
            self.place += 1
            if char == '"':
                break
            if char != "\\":
                units.append(char)
                continue
            escape = self.peek()
            self.place += 1
            if escape == "u":
                digits = self.text[self.place : self.place + 4]
                if len(digits) < 4 or digits.strip("0123456789abcdefABCDEF"):
                    raise Refused("syntax")
                self.place += 4
                units.append((int(digits, 16),))
            else:
                plain = dict(zip('"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True))
                if escape not in plain:
                    raise Refused("syntax")
                units.append(plain[escape])
        return _combined(units)

    def digits(self):
        start = self.place
        while self.peek() and self.peek() in "0123456789":
            self.place += 1
        return self.place - start

    def number(self):
        start = self.place
        self.take("-")
        if not self.take("0") and not self.digits():
            raise Refused("syntax")
        whole = True
        here = self.place
        if self.take("."):
            whole = not self.digits()
            if whole:
                self.place = here  # the point is left over: a fault of who follows
        here = self.place
        if self.take("e") or self.take("E"):
            if not self.take("-"):
                self.take("+")
            if self.digits():
                whole = False
            else:
                self.place = here
        token = self.text[start : self.place]
        if not whole:
            return float(token)
        if len(token.lstrip("-")) > 4300:
            raise Refused("int_range")
        return int(token)


def _combined(units):
    """Join characters and escaped units; an escaped pair next to each other is one."""
    out = []
    for unit in units:
        if isinstance(unit, str):
            out.append(unit)
            continue
        (point,) = unit
        high = out and isinstance(out[-1], tuple) and 0xD800 <= out[-1][0] < 0xDC00
        if high and 0xDC00 <= point < 0xE000:
            (first,) = out.pop()
            out.append(chr(0x10000 + ((first - 0xD800) << 10) + (point - 0xDC00)))
        else:
            out.append(unit)
    return "".join(unit if isinstance(unit, str) else chr(unit[0]) for unit in out)
