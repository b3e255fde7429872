"""URI references: the grammar of RFC 3986, by tables and against a second reading."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgence.worker.workflow import _uri

ACCEPTED = [
    "/",
    ".",
    "#f",
    "?q",
    "//",
    "//h:",
    "//@h",
    "a:",
    "a:b",
    "a/b:c",
    "//[::1]:",
    "//[v1.a]",
    "//h:99999999",
    "/%aF",
    "urn:a:b",
    "*",
    "a?b#c",
    "a#b?c",
    "a?b?c",
    "http://u:p@h:1/x?y#z",
    "//u%40@h",
    "//h%20/",
    "//[1::]/",
    "//[::]",
    "//[1:2:3:4:5:6:7:8]",
    "//[::1.2.3.4]",
    "//[1:2:3:4:5:6:1.2.3.4]",
    "//[1::255.0.9.10]",
    "//[1:2:3:4:5:6:7::]",
    "//[::2:3:4:5:6:7:8]",
    "//[VF.a:b]",
    "//[v1.~!$&'()*+,;=:-]",
    "//h",
    "/a//b",
    "a+b-c.d:x",
    "A9:",
    "%41/:b",
    "a;b=c@d",
    "?/?",
    "#/?:@",
    "//h:/",
    "//[::1]:80",
    "mailto:a@b",
    "../x:y",
]
REFUSED = [
    "a|b",
    "é",
    "%4",
    "a#b#c",
    "1:b",
    ":b",
    "a_b:c",
    "//h:x",
    "//h:8:9",
    "//[::1%25eth0]",
    "//[::ffff:01.2.3.4]",
    "//u@v@h",
    "/a[b]",
    "a\\b",
    "//[::1",
    "//[::1]x",
    "//[::1]:x",
    "//[]",
    "//[v.a]",
    "//[v1.]",
    "//[v1]",
    "//[vg.a]",
    "//[1.2.3.4]",
    "//[1:2:3:4:5:6:7]",
    "//[1:2:3:4:5:6:7:8:9]",
    "//[1::2::3]",
    "//[:::]",
    "//[::1.2.3]",
    "//[::256.1.1.1]",
    "//[::1.2.3.4:5]",
    "//[12345::]",
    "//[g::]",
    "//[1:2:3:4:5:6:7:8::]",
    "//[::1:2:3:4:5:6:7:8]",
    "//[1:]",
    "//[:1]",
    "//[1.2.3.4::]",
    "//[::00.1.1.1]",
    "%41:b/",
    "/%",
    "/%g0",
    "/%0g",
    "?%",
    "#%",
    "?[",
    "#[",
    "//u[@h",
    "//h[",
    "//[::1]]",
    "^",
    "`",
]
REFUSED += [
    "a b",
    " ",
    "a\n",
    "//[::1.2.3.]",
    "//[::1.2.3.1234]",
    "\uff41:",
    "a\u0660:",
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_references_are_accepted(text):
    assert _uri.is_reference(text)


@pytest.mark.parametrize("text", REFUSED)
def test_other_texts_are_refused(text):
    assert not _uri.is_reference(text)


@pytest.mark.parametrize("text", ["a:", "a:b", "urn:a:b", "http://h/p?q", "a:?q"])
def test_absolute_uris_have_a_scheme_and_no_fragment(text):
    assert _uri.is_absolute(text)
    assert not _uri.is_absolute(text + "#f")
    assert not _uri.is_absolute(text + "#")


@pytest.mark.parametrize("text", ["/a", "a", "//h", "", "?a:b", "1:b", "a/b:c", "a:|"])
def test_other_references_are_not_absolute(text):
    assert not _uri.is_absolute(text)


# A second reading of the grammar, by regular expressions straight from RFC 3986.
PCT = "%[0-9A-Fa-f]{2}"
PCHAR = f"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|{PCT})"
OCTET = "(?:[0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])"
V4 = rf"{OCTET}\.{OCTET}\.{OCTET}\.{OCTET}"
H = "[0-9A-Fa-f]{1,4}"
LS32 = f"(?:{H}:{H}|{V4})"
V6 = "|".join(
    [f"(?:{H}:){{6}}{LS32}", f"::(?:{H}:){{5}}{LS32}"]
    + [f"(?:(?:{H}:){{0,{n}}}{H})?::(?:{H}:){{{4 - n}}}{LS32}" for n in range(5)]
    + [f"(?:(?:{H}:){{0,5}}{H})?::{H}", f"(?:(?:{H}:){{0,6}}{H})?::"]
)
FUTURE = r"[vV][0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+"
USER = f"(?:[A-Za-z0-9._~!$&'()*+,;=:-]|{PCT})*"
NAME = f"(?:[A-Za-z0-9._~!$&'()*+,;=-]|{PCT})*"
AUTHORITY = rf"(?:{USER}@)?(?:\[(?:{V6}|{FUTURE})\]|{NAME})(?::[0-9]*)?"
SEGMENTS = f"(?:/{PCHAR}*)*"
NOSCHEME = f"(?:[A-Za-z0-9._~!$&'()*+,;=@-]|{PCT})+"
SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*:"
TAIL = rf"(?:\?(?:{PCHAR}|[/?])*)?(?:#(?:{PCHAR}|[/?])*)?"
HIER = f"(?://{AUTHORITY}{SEGMENTS}|/(?:{PCHAR}+{SEGMENTS})?|{PCHAR}+{SEGMENTS}|)"
RELATIVE = f"(?://{AUTHORITY}{SEGMENTS}|/(?:{PCHAR}+{SEGMENTS})?|{NOSCHEME}{SEGMENTS}|)"
REFERENCE = re.compile(f"(?:{SCHEME}{HIER}|{RELATIVE}){TAIL}")


@settings(max_examples=600)
@given(st.text("a1:/?#[]@%.-+vF!|", max_size=14))
def test_short_texts_are_judged_as_the_rfc_does(text):
    assert _uri.is_reference(text) == bool(REFERENCE.fullmatch(text)), text


@settings(max_examples=600)
@given(st.text("0123:.fFv", max_size=24))
def test_ip_literals_are_judged_as_the_rfc_does(text):
    reference = f"//[{text}]"
    assert _uri.is_reference(reference) == bool(REFERENCE.fullmatch(reference)), text


@given(
    st.lists(
        st.sampled_from(["0", "1", "fF", "12ab", "1.2.3.4", "::", ":"]), max_size=12
    )
)
def test_addresses_of_groups_are_judged_as_the_rfc_does(parts):
    reference = f"//[{':'.join(parts)}]"
    assert _uri.is_reference(reference) == bool(REFERENCE.fullmatch(reference))
