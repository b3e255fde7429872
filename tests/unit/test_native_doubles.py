"""The digit routines of the compiled twin against CPython's own."""

import importlib.util
import math
import struct
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from tests.support.ids import stable

ROOT = Path(__file__).resolve().parents[2]


def double(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def bits_of(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def agree(native, values):
    """Compare spelling and reading of many finite doubles."""
    values = [value for value in values if math.isfinite(value)]
    values += [-value for value in values]
    text = native.encode(values, 10**9)
    assert text.decode().strip("[]").split(",") == list(map(repr, values))
    assert list(map(bits_of, native.loads(text))) == list(map(bits_of, values))


def around(values, width=3):
    for value in values:
        bits = bits_of(value)
        for step in range(-width, width + 1):
            if 0 <= bits + step < 0x7FF0_0000_0000_0000:
                yield double(bits + step)


@pytest.mark.timeout(300)
def test_a_million_seeded_doubles_agree(native):
    done = subprocess.run(
        [sys.executable, ROOT / "tests/fuzz/fuzz_doubles.py", "--count", "1000000"],
        cwd=Path(native.__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=290,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[0]) >= 1_000_000


def test_every_power_of_two_and_its_neighbours_agree(native):
    agree(native, around(math.ldexp(1.0, power) for power in range(-1074, 1024)))


def test_every_power_of_ten_and_its_neighbours_agree(native):
    agree(native, around(float(f"1e{power}") for power in range(-323, 309)))


def test_the_small_multiples_of_powers_of_ten_agree(native):
    agree(
        native,
        (
            float(f"{n}e{power}")
            for power in range(-320, 300, 7)
            for n in range(1, 1000)
        ),
    )


def test_the_smallest_subnormals_agree(native):
    agree(native, map(double, range(1, 5000)))


def test_the_edges_of_the_positional_range_agree(native):
    edges = (1e-5, 9.999e-5, 1e-4, 1e15, 9.999e15, 1e16, 123456789012345680.0)
    agree(native, around(edges, 50))


# Doubles that published routines have been known to spell wrongly or not shortest.
HARD = [
    5e-324,
    1.7976931348623157e308,
    2.2250738585072011e-308,
    2.2250738585072014e-308,
    9007199254740991.0,
    9007199254740992.0,
    9007199254740994.0,
    9.5367431640625e-07,
    4.35,
    0.3,
    2.0**-44,
    5.764607523034235e39,
    1.152921504606847e40,
    2.305843009213694e40,
    4.611686018427388e40,
    9.223372036854776e40,
    2.98023223876953125e-8,
    1.8446744073709552e19,
    8.41e21,
    2.0e23,
    9.0e-265,
    6.9294956446009195e15,
    7.888609052210118e-31,
    1.3e-320,
    2e-323,
    1.5e-323,
]


@pytest.mark.parametrize("value", HARD, ids=stable)
def test_a_hard_double_agrees(native, value):
    agree(native, around([value], 10))


# Texts that are near the middle between two doubles, or long, or at the edges.
HARD_TEXTS = [
    "9007199254740993",
    "9007199254740993.0",
    "9007199254740992.99999999999999999999999999999999999",
    "9007199254740993.00000000000000000000000000000000001",
    "9007199254740995e0",
    "1.00000000000000011102230246251565404236316680908203125",
    "1.00000000000000011102230246251565404236316680908203124",
    "1.00000000000000011102230246251565404236316680908203126",
    "2.2250738585072012e-308",
    "2.2250738585072011e-308",
    "4.9406564584124654e-324",
    "2.4703282292062327e-324",
    "2.4703282292062328e-324",
    "1e-324",
    "1.7976931348623157e308",
    "1.7976931348623158e308",
    "1.7976931348623159e308",
    "1e308",
    "1e309",
    "1e-400",
    "1e400",
    "123456789012345678901234567890e-10",
    "0." + "0" * 400 + "1e400",
    "1" + "0" * 400 + "e-400",
    "0." + "3" * 2000,
    "8" * 30 + ".5e10",
    "7.2057594037927933e16",
    "1e22",
    "1e23",
    "8.533e+68",
    "4.1006e-184",
    "9.998e+307",
    "9.9538452227e-280",
    "6.47660115e-260",
    "0.0",
    "-0.0",
    "-0e0",
    "0e999999999999",
    "1e-999999999999",
]


@pytest.mark.parametrize("text", HARD_TEXTS, ids=lambda text: text[:40])
def test_a_hard_text_reads_as_the_nearest_double(native, text):
    read = native.loads(text.encode())
    expected = float(text) if set(text) & set(".eE") else int(text)
    assert type(read) is type(expected)
    assert repr(read) == repr(expected)


def test_texts_halfway_between_doubles_read_to_even(native):
    for exponent in range(-60, 60):
        low = Fraction(2) ** exponent * (2**52 + 12345)
        step = Fraction(2) ** exponent
        middle = low + step / 2
        scale = 10 ** max(0, 60 - exponent)
        digits = middle * scale
        if digits.denominator == 1:
            power = -len(str(scale)) + 1
            text = f"{digits.numerator}e{power}"
            assert native.loads(text.encode()) == float(text)


def powers_module():
    spec = importlib.util.spec_from_file_location("powers", ROOT / "native/powers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_of_powers_is_what_its_script_writes():
    written = (ROOT / "native/powers.h").read_text(encoding="ascii")
    assert written == powers_module().text()


def floor_log10(value):
    """By integers only: floor of the decimal logarithm of a positive fraction."""
    guess = len(str(value.numerator)) - len(str(value.denominator))
    while Fraction(10) ** guess > value:
        guess -= 1
    while Fraction(10) ** (guess + 1) <= value:
        guess += 1
    return guess


def test_the_logarithms_by_fixed_point_are_exact_in_their_range():
    """The same formulas as in shortest.h, over every exponent of a double."""
    for q in range(-1074, 972):
        power = Fraction(2) ** q
        assert (q * 1262611) >> 22 == floor_log10(power)
        assert (q * 1262611 - 524031) >> 22 == floor_log10(power * 3 / 4)
    for e in range(-342, 325):
        two = e * 1741647 >> 19
        assert Fraction(2) ** two <= Fraction(10) ** e < Fraction(2) ** (two + 1)
