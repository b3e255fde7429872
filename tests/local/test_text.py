import pytest

from ledgence.local._text import byte_length, is_text, shorten


@pytest.mark.parametrize(
    ("value", "good"),
    [
        pytest.param("", False, id="empty"),
        pytest.param("a", True, id="one"),
        pytest.param("a" * 127, True, id="one-below"),
        pytest.param("a" * 128, True, id="at-the-limit"),
        pytest.param("a" * 129, False, id="one-above"),
        pytest.param("é" * 64, True, id="bytes-not-characters"),
        pytest.param("é" * 64 + "a", False, id="bytes-not-characters-above"),
        pytest.param("a\x1f", False, id="c0"),
        pytest.param("a ", True, id="space"),
        pytest.param("a\x7f", False, id="delete"),
        pytest.param("a\x9f", False, id="c1"),
        pytest.param("a\xa0", True, id="after-c1"),
        pytest.param("\ufdcf", True, id="before-nonchar"),
        pytest.param("\ufdd0", False, id="nonchar-first"),
        pytest.param("\ufdef", False, id="nonchar-last"),
        pytest.param("\ufdf0", True, id="after-nonchar"),
        pytest.param("\ufffd", True, id="replacement"),
        pytest.param("\ufffe", False, id="fffe"),
        pytest.param("\uffff", False, id="ffff"),
        pytest.param("\U0010fffd", True, id="last-character"),
        pytest.param("\U0010ffff", False, id="last-nonchar"),
        pytest.param("\ud800", False, id="surrogate"),
        pytest.param(5, False, id="number"),
        pytest.param(None, False, id="null"),
    ],
)
def test_a_text_is_bounded_and_has_no_control_or_noncharacter(value, good):
    assert is_text(value, 128) is good


def test_a_lone_surrogate_has_no_length():
    assert (byte_length("\ud800"), byte_length("é")) == (-1, 2)


def test_shortening_keeps_the_limit_and_marks_the_cut():
    assert shorten("a" * 80) == "a" * 80
    assert shorten("a" * 81) == "a" * 77 + "..."
