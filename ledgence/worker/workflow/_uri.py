"""URI references of event attributes (workflow-wire.md 4.2; RFC 3986, ASCII only).

Only a yes or no is given: nothing is normalized, resolved or rewritten.
"""

from __future__ import annotations

_ALPHA = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DIGIT = "0123456789"
_HEX = frozenset(_DIGIT + "ABCDEFabcdef")
_ATOM = _ALPHA + _DIGIT + "._~!$&'()*+,;=-"
_PCHAR = _ATOM + ":@"
_SCHEME = _ALPHA + _DIGIT + "+-."


def is_reference(text: str) -> bool:
    """Tell whether a text is a URI reference."""
    rest, _, fragment = text.partition("#")
    rest, _, query = rest.partition("?")
    if not (_made_of(fragment, _PCHAR + "/?") and _made_of(query, _PCHAR + "/?")):
        return False
    scheme, rest = _split_scheme(rest)
    if rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        return _is_authority(authority) and _made_of(slash + path, _PCHAR + "/")
    # Without a scheme, a colon in the first segment would read as one.
    if not scheme and ":" in rest.partition("/")[0]:
        return False
    return _made_of(rest, _PCHAR + "/")


def is_absolute(text: str) -> bool:
    """Tell whether a text is an absolute URI: with a scheme, without a fragment."""
    return "#" not in text and bool(_split_scheme(text)[0]) and is_reference(text)


def _split_scheme(text: str) -> tuple[str, str]:
    scheme, colon, rest = text.partition(":")
    if colon and scheme[:1] in _ALPHA and scheme and not scheme.strip(_SCHEME):
        return scheme, rest
    return "", text


def _made_of(text: str, allowed: str) -> bool:
    """Tell whether a text is *( allowed / percent-encoded )."""
    plain, *encoded = text.split("%")
    return not plain.strip(allowed) and all(
        len(part) >= 2 and _HEX.issuperset(part[:2]) and not part[2:].strip(allowed)
        for part in encoded
    )


def _is_authority(text: str) -> bool:
    user, at, host = text.partition("@")
    if not at:
        user, host = "", text
    if not _made_of(user, _ATOM + ":"):
        return False
    if host.startswith("["):
        literal, bracket, port = host[1:].partition("]")
        if not bracket or not (_is_ipv6(literal) or _is_future(literal)):
            return False
        return not port or (port[0] == ":" and not port[1:].strip(_DIGIT))
    name, _, port = host.partition(":")
    return _made_of(name, _ATOM) and not port.strip(_DIGIT)


def _is_future(text: str) -> bool:
    version, dot, address = text[1:].partition(".")
    return (
        text[:1] in ("v", "V")
        and bool(version)
        and _HEX.issuperset(version)
        and bool(dot)
        and bool(address)
        and not address.strip(_ATOM + ":")
    )


def _is_ipv6(text: str) -> bool:
    head, compressed, tail = text.partition("::")
    left = _groups(head, dotted=not compressed)
    if left is None:
        return False
    if not compressed:
        return left == 8
    # A second "::" leaves an empty group, which is none.
    right = _groups(tail, dotted=True)
    # "::" stands for at least one group.
    return right is not None and left + right <= 7


def _groups(text: str, *, dotted: bool) -> int | None:
    """Count 16-bit groups, an IPv4 tail as two; None when the text is malformed."""
    if not text:
        return 0
    *parts, last = text.split(":")
    if "." in last:
        if not (dotted and _is_ipv4(last)):
            return None
        count = 2
    else:
        parts.append(last)
        count = 0
    if all(0 < len(part) <= 4 and _HEX.issuperset(part) for part in parts):
        return count + len(parts)
    return None


def _is_ipv4(text: str) -> bool:
    octets = text.split(".")
    return len(octets) == 4 and all(
        0 < len(octet) <= 3
        and not octet.strip(_DIGIT)
        and int(octet) <= 255
        and (octet == "0" or octet[0] != "0")
        for octet in octets
    )
