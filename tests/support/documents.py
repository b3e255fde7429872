"""Seeded cases for the JSON profile: all kinds of values, near every limit, hostile.

A case is a pure function of its seed. ``case(seed)`` gives an operation of the profile
and its arguments, freshly built, so that each twin gets objects of its own;
``outcome(module, operation, arguments)`` runs it and describes what happened in a form
that can be compared.
"""

import ctypes
import enum
import json
import random
import struct
from collections import Counter, OrderedDict, defaultdict, namedtuple

OPERATIONS = (
    *("encode", "encode", "encode", "check", "freeze", "fingerprint"),
    *("check_wire", "encode_frame", "encode_frame", "fit_error", "loads", "loads"),
)
ENCODERS = ("encode", "check", "freeze", "fingerprint")
LIMITS = (256, 1024, 4096, 16384, 32768, 65536, 131072, 147456, 262144, 655360)
DEPTHS = (0, 1, 2, 3, 5, 63, 64, 65, 96, 97, 127)
INTEGERS = [
    sign * (2**power + more)
    for power in (0, 7, 15, 30, 31, 32, 53, 60, 62, 63, 64, 65, 200)
    for more in (-1, 0, 1)
    for sign in (1, -1)
] + [10**n for n in (9, 15, 16, 17, 18, 19, 20)]
FLOATS = [0.0, -0.0, 0.5, 1e-4, 1e-5, 1.5e-5, 1e-7, 1e15, 1e16, 123456789.125, 5e-324]
FLOATS += [1.7976931348623157e308, 2.2250738585072014e-308, 0.1, 1 / 3, 1e22, 100.0]
NOT_FINITE = [float("nan"), float("inf"), float("-inf")]
ALPHABETS = (
    "abcxyz",
    "abc019_ -.",
    '"\\/\b\t\n\f\r',
    "".join(map(chr, range(0x20))),
    "é€\x7f\x80\x9f\u2028\u2029\ufeff\uffff",
    "😀\U0001f1ea\U00010000\U0010ffff",
    'aé€😀"\n\x01',
)
SURROGATES = "\ud800\udbff\udc00\udfff"
NAMES = ("", "a", "b", "aa", "a b", "id", "items", "total", "\n", '"', "é", "\uffff")
NAMES += ("\U00010000", "\uff21", "_private", "class", "9lives", "x" * 64, "y" * 65)


class Hook(Exception):
    """What the hooks of hostile objects raise."""


class Text(str):
    """A str that lies wherever user code could be asked."""

    __slots__ = ()

    def __str__(self):
        return "lie"

    __repr__ = __str__

    def __len__(self):
        return 0

    def __getitem__(self, key):
        return "lie"

    def __iter__(self):
        return iter("lie")

    def __lt__(self, other):
        raise Hook

    def encode(self, *args):
        return b"lie"

    def isascii(self):
        return True


class Whole(int):
    def __str__(self):
        return "lie"

    __repr__ = __str__

    def __lt__(self, other):
        return True

    __gt__ = __le__ = __ge__ = __lt__

    def __int__(self):
        return 7

    __index__ = __int__


class Real(float):
    def __str__(self):
        return "lie"

    __repr__ = __str__

    def __float__(self):
        return 7.0

    def __lt__(self, other):
        return True

    __gt__ = __le__ = __ge__ = __eq__ = __ne__ = __lt__
    __hash__ = float.__hash__


class Items(list):
    """A list whose iterator says something else than its storage."""

    def __init__(self, stored, shown):
        super().__init__(stored)
        self.shown = shown

    def __iter__(self):
        return iter(self.shown)

    def __len__(self):
        return 99


class Row(tuple):
    __slots__ = ()

    def __iter__(self):
        return iter(["row", *tuple.__iter__(self)])


class Members(dict):
    """A dict whose items() say something else than its storage."""

    def __init__(self, stored, shown):
        super().__init__(stored)
        self.shown = shown

    def items(self):
        return list(self.shown)

    def __iter__(self):
        raise Hook

    keys = values = __len__ = __iter__


class Raising(dict):
    def items(self):
        raise Hook


class RaisingLater(list):
    def __iter__(self):
        yield 1
        raise Hook


class Mask:
    """An object that claims to be of another class."""

    def __init__(self, cls):
        object.__setattr__(self, "cls", cls)

    @property
    def __class__(self):
        return object.__getattribute__(self, "cls")

    def __getattr__(self, name):
        raise Hook


class EqualToAll(type):
    """A metaclass whose classes equal every other class."""

    def __eq__(cls, other):
        return True

    def __hash__(cls):
        return hash(str)

    def __instancecheck__(cls, instance):
        raise Hook

    __subclasscheck__ = __instancecheck__


class Equal(metaclass=EqualToAll):
    pass


class Word(enum.StrEnum):
    ONE = "one"
    EURO = "€"


class Count(enum.IntEnum):
    TWO = 2
    HUGE = 2**64


class Bits(enum.IntFlag):
    A = 1
    B = 2


class Plain(enum.Enum):
    X = "x"


Pair = namedtuple("Pair", "left right")  # noqa: PYI024 - an author's untyped tuple


def case(seed):
    """The operation of a seed and its arguments, built anew at each call."""
    rng = random.Random(seed)
    operation = rng.choice(OPERATIONS)
    if operation == "loads":
        arguments = {"line": _line(rng), "unique": rng.random() < 0.5}
    elif operation == "fit_error":
        arguments = _failure(rng)
    else:
        arguments = _encoding(rng, operation)
    return operation, arguments


def outcome(module, operation, arguments):
    """What a call does: ``("ok", text)``, or what it raises, by attributes."""
    try:
        result = getattr(module, operation)(**arguments)
    except Exception as error:  # noqa: BLE001 - any exception is an outcome here
        if hasattr(error, "reason") and hasattr(error, "path"):
            return ("refused", error.reason, error.path, error.limit, error.size)
        return ("raised", type(error).__name__)
    return ("ok", describe(result))


def describe(value):
    """A text that tells apart types, order of members, signs and every bit."""
    if isinstance(value, bytes):
        return f"bytes {value!r}"
    out, pending = [], [value]
    while pending:
        item = pending.pop()
        kind = type(item)
        out.append(kind.__name__)
        if kind is float:
            out.append(struct.pack(">d", item).hex())
        elif kind is dict:
            out.append(json.dumps(list(item)))
            pending.extend(item.values())
        elif kind is list:
            out.append(str(len(item)))
            pending.extend(item)
        elif kind is int:
            out.append(f"{item:x}")
        elif kind is str:
            out.append(json.dumps(item))
        else:
            out.append(repr(item))
    return " ".join(out)


# --- values ---


class _Tree:
    """Builds one value: how large, how wild and how shared is drawn once."""

    def __init__(self, rng, *, wire):
        self.rng = rng
        self.wire = wire
        self.nodes = rng.choice((1, 3, 8, 30, 120))
        self.wild = rng.choice((0, 0, 0.02, 0.1))  # violations
        self.subclasses = rng.choice((0, 0.05, 0.3)) if wire else self.wild / 3
        self.sharing = rng.choice((0, 0, 0.1))
        self.width = rng.choice((2, 4, 12))
        self.made = []

    def value(self, level=0):
        rng = self.rng
        self.nodes -= 1
        if self.made and rng.random() < self.sharing:
            return rng.choice(self.made)
        if rng.random() < self.wild:
            return self.violation()
        if self.nodes <= 0 or level > 9 or rng.random() < (0.5 if level else 0.15):
            return self.scalar()
        value = self.container(level)
        self.made.append(value)
        return value

    def scalar(self):
        rng = self.rng
        draw = rng.random()
        if draw < 0.4:
            value = text(rng)
        elif draw < 0.6:
            value = rng.choice((rng.choice(INTEGERS[:60]), rng.randrange(-1000, 1000)))
            value = max(-(2**63), min(value, 2**64 - 1))
        elif draw < 0.8:
            value = _float(rng)
        else:
            return rng.choice((None, True, False))
        if rng.random() < self.subclasses:
            return _subclass_scalar(rng, value)
        return value

    def container(self, level):
        rng = self.rng
        width = rng.randrange(self.width + 1)
        kind = rng.choice(("dict", "dict", "list", "tuple"))
        if rng.random() < self.subclasses:
            return self.subclass(level, kind, width)
        if kind == "dict":
            return dict(self.members(level, width))
        items = [self.value(level + 1) for _ in range(width)]
        if kind == "tuple":
            return tuple(items)
        if rng.random() < self.wild * 3:
            items.append(rng.choice((items, [items], {"k": (items,)})))
        return items

    def members(self, level, width):
        rng = self.rng
        pairs = []
        for _ in range(width):
            name = rng.choice(NAMES) if rng.random() < 0.6 else text(rng, short=True)
            if rng.random() < self.subclasses:
                name = rng.choice((Text(name), Word.ONE))
            if rng.random() < self.wild:
                name = rng.choice(
                    (1, None, True, 1.5, (), b"x", Plain.X, "\ud800", Equal)
                )
            pairs.append((name, self.value(level + 1)))
        return pairs

    def subclass(self, level, kind, width):
        rng = self.rng
        if kind == "dict":
            pairs = self.members(level, width)
            draw = rng.randrange(6)
            if draw == 0:
                return OrderedDict(pairs)
            if draw == 1:
                return defaultdict(int, pairs)
            if draw == 2:
                return Counter(dict(pairs))
            if draw == 3:
                return Raising(pairs) if rng.random() < 0.2 else OrderedDict(pairs)
            # Also names that repeat, as no dict has them.
            return Members(pairs[:1], pairs + pairs[: rng.randrange(2)])
        items = [self.value(level + 1) for _ in range(width)]
        draw = rng.randrange(5)
        if draw == 0:
            return Pair(items, None)
        if draw == 1:
            return Row(items)
        if draw == 2 and rng.random() < 0.2:
            return RaisingLater(items)
        return Items(items[1:], items)

    def violation(self):
        rng = self.rng
        return rng.choice(
            (
                lambda: rng.choice(INTEGERS),
                lambda: 10 ** rng.choice((20, 400, 5000)),
                lambda: rng.choice(NOT_FINITE),
                lambda: text(rng) + rng.choice(SURROGATES) + text(rng),
                lambda: rng.choice((b"x", {1}, 1j, ..., object(), range(3), Plain.X)),
                lambda: Mask(rng.choice((str, int, dict, list, type(None)))),
                Equal,
                lambda: _subclass_scalar(rng, rng.choice(("s", 5, 2.5))),
                lambda: rng.choice((Word.EURO, Count.TWO, Count.HUGE, Bits.A)),
                lambda: Text("x" * rng.choice((1, 5000)) + rng.choice(SURROGATES)),
                lambda: Whole(rng.choice(INTEGERS)),
                lambda: Real(rng.choice(NOT_FINITE)),
            )
        )()


def text(rng, *, short=False):
    """A text of one alphabet; now and then a long one; every other one is cached."""
    length = rng.choice((0, 1, 2, 7, 15, 16, 17, 33)) if short else _length(rng)
    made = "".join(rng.choices(rng.choice(ALPHABETS), k=length))
    return cache_utf8(made) if length % 2 else made


def cache_utf8(value):
    """Make CPython keep the UTF-8 of a text with it, as many C extensions do."""
    ctypes.pythonapi.PyUnicode_AsUTF8AndSize(ctypes.py_object(value), None)
    return value


def _length(rng):
    if rng.random() < 0.03:
        return rng.choice((255, 256, 600, 4095))
    return rng.randrange(rng.choice((3, 20, 70)))


def _float(rng):
    if rng.random() < 0.5:
        return rng.choice((1, -1)) * rng.choice(FLOATS)
    bits = rng.getrandbits(64).to_bytes(8, "big")
    value = struct.unpack(">d", bits)[0]
    return value if value - value == 0 else 0.25


def _subclass_scalar(rng, value):
    if isinstance(value, str):
        return Text(value)
    if isinstance(value, int):
        return rng.choice((Whole(value), Count.TWO, Bits.A | Bits.B))
    return Real(value)


def _nested(rng, value, count):
    for _ in range(count):
        value = rng.choice((lambda v: [v], lambda v: (v,), lambda v: {"k": v}))(value)
    return value


def _encoding(rng, operation):
    wire = operation in ("check_wire", "encode_frame")
    value = _Tree(rng, wire=wire).value()
    arguments = {}
    if rng.random() < 0.3:
        arguments["max_depth"] = rng.choice(DEPTHS)
    if rng.random() < 0.25:
        near = arguments.get("max_depth", 64)
        value = _nested(rng, value, max(0, near + rng.randrange(-8, 3)))
    if operation == "encode_frame" and type(value) is not dict:
        value = {"v": 1, "output": value}
    if operation in ENCODERS:
        arguments["received"] = rng.random() < 0.3
    if operation != "check_wire":
        arguments["limit"] = _limit(rng, value)
    arguments["value"] = value
    return arguments


def _limit(rng, value):
    """Any limit, but mostly one close to the size of the value."""
    draw = rng.random()
    if draw < 0.25:
        return rng.choice(LIMITS)
    size = _size(value)
    if draw < 0.75:
        return max(0, size + rng.randrange(-3, 4))
    return rng.randrange(size + 2)


def _size(value):
    """About how long the text of a value is."""
    try:
        return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    except (TypeError, ValueError, RecursionError, Hook):
        return 60


def _failure(rng):
    envelope = {"v": rng.choice((1, 2, 3)), "type": "result", "event_id": text(rng)}
    if rng.random() < 0.1:
        envelope["wrong"] = rng.choice(
            (2**64, "\ud800", float("nan"), object(), {1: 2})
        )
    count = rng.choice((0, 1, 40, 511, 512, 513, 700))
    message = "".join(rng.choices(rng.choice((*ALPHABETS, "a" + SURROGATES)), k=count))
    if rng.random() < 0.1:
        message = Text(message)
    arguments = {"envelope": envelope, "kind": "business_error", "message": message}
    arguments["limit"] = rng.choice((0, 60, 130, 200, 256, 400, 700, 1500, 5000))
    arguments["limit"] += rng.randrange(12)
    if rng.random() < 0.3:
        arguments["status"] = "runtime_error"
    return arguments


# --- lines ---

_FRAGMENTS = (
    *("NaN", "Infinity", "-Infinity", "nul", "True", "-", "01", "-01", "1.", ".5"),
    *("+1", "1e", "1e+", "1E5", "-0", "-0.0", "1e400", "0x1", "1_0", "[1,]", "[,1]"),
    *('{"a":1,}', '{"a"}', "{a:1}", "{'a':1}", '{"a":1 "b":2}', "//", "/**/", "[", "]"),
    *('{"a":1,"a":2}', '{"a":1,"\\u0061":[{}]}', '{"b":{"a":1,"a":2},"b":0}'),
    *('"\\ud83d\\ude00"', '"\\ud83d"', '"\\uDE00\\uD83D"', '"\\ud83d\\u0041"', '"\\x"'),
    *(
        '"\\u12"',
        '"\\u12g4"',
        '"\\u+123"',
        '"\n"',
        '"\x7f"',
        '"\x1f"',
        '"abc',
        "\ufeff",
    ),
    *(
        "\xa0",
        "\u2028",
        "\v",
        "1" * 4300,
        "1" * 4301,
        "-" + "9" * 4301,
        "1" * 4301 + ".5",
    ),
    *("0." + "3" * 5000, '"' + "7" * 5000 + '"', "[" * 40 + "]" * 40, "9" * 641),
)


def _line(rng):
    value = _Tree(rng, wire=False)
    value.wild = value.subclasses = value.sharing = 0
    plain = value.value()
    spacing = rng.choice(((",", ":"), (", ", ": ")))
    line = json.dumps(plain, ensure_ascii=rng.random() < 0.5, separators=spacing)
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        line = _mutated(rng, line)
    data = line.encode("utf-8", "surrogatepass")
    if rng.random() < 0.15:
        wrong = rng.choice(
            (
                b"\xff",
                b"\xc0\x80",
                b"\xed\xa0\x80",
                b"\xf4\x90\x80\x80",
                b"\xe2\x82",
                b"\x80",
            )
        )
        place = rng.randrange(len(data) + 1)
        data = data[:place] + wrong + data[place:]
    return data + rng.choice((b"", b"\n", b" \r\n\t", b"\n\n", b"x", b"\0"))


def _mutated(rng, line):
    place = rng.randrange(len(line) + 1)
    draw = rng.random()
    if draw < 0.15:
        return line[:place]
    if draw < 0.3:
        return line[:place] + line[place + 1 :]
    if draw < 0.4:
        return line[:place] + rng.choice(" \t\n\r\v\f") + line[place:]
    if draw < 0.55:
        char = rng.choice('[]{},:"\\0129eE+-.ntfu')
        return line[:place] + char + line[place + 1 :]
    fragment = rng.choice(_FRAGMENTS)
    if draw < 0.8:
        # Where a value stood, so that most of the line is still well-formed.
        for token in ("null", "true", "false", '""', "0"):
            if token in line:
                return line.replace(token, fragment, 1)
        return f"[{line},{fragment}]"
    return line[:place] + fragment + line[place:]
