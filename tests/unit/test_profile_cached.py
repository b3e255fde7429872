"""Texts whose UTF-8 the interpreter keeps: they are spelled as they always are."""

import json

import pytest

from ledgence.worker._exceptions import ProfileError
from tests.support.documents import Text, cache_utf8

FRONTS = ("", "a", "aé", "中", "😀", "x" * 7, "x" * 15, "x" * 31)
MIDDLES = ("é", "Ω", "中", "😀", 'é"', "中\\", "😀\n", "\x01é", "é\x7f\x80", "\uffff")
BACKS = ("", "b", '"', "é" * 9, "中" * 17, '\x1f"\\é')


def spelled(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@pytest.mark.parametrize("front", FRONTS, ids=range(len(FRONTS)))
def test_a_cached_text_is_spelled_as_json_spells_it(profile, front):
    for middle in MIDDLES:
        for back in BACKS:
            text = cache_utf8(front + middle + back)
            want = spelled({text: [text, text]})
            assert profile.encode({text: [text, text]}, 9999) == want
            assert profile.encode_frame({text: (text, text)}, 9999) == want + b"\n"
            assert profile.encode_frame({"a": Text(text)}, 9999) == (
                spelled({"a": text}) + b"\n"
            )


def test_a_cached_text_of_a_subclass_is_spelled_as_well(profile):
    text = cache_utf8(Text('é"中\\😀' * 9))
    want = spelled({"a": str.__str__(text)})
    assert profile.encode_frame({"a": text}, 9999) == want + b"\n"


@pytest.mark.parametrize("text", ["é" * 50, "中" * 50, "😀" * 50, 'é"' * 50])
@pytest.mark.parametrize("more", [-150, -99, -51, -50, -1, 0, 1])
def test_a_cached_text_has_the_limit_of_any_text(profile, text, more):
    size = len(spelled(text))
    other = "".join(list(text))  # equal, and not cached
    results = []
    for each in (cache_utf8(text), other):
        try:
            results.append(profile.encode(each, size + more))
        except ProfileError as error:
            results.append((error.reason, error.path, error.limit, error.size))
    assert results[0] == results[1]
    assert (results[0] == spelled(text)) == (more >= 0)


def test_a_large_cached_text_is_spelled_in_one_piece(profile):
    text = cache_utf8('Größe "中" 😀\n' * 30_000)
    assert profile.encode(text, 10**7) == spelled(text)


def test_nothing_is_cached_in_a_text(profile):
    text = "".join(["é"] * 1000)  # made here: a constant may be cached already
    before = text.__sizeof__()
    profile.encode([text], 9999)
    assert text.__sizeof__() == before
    assert cache_utf8(text).__sizeof__() > before
