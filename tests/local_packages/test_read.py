"""Archives from elsewhere: each rule of the contract, and hostile bytes."""

import contextlib
import io
import stat
import struct
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgence.local._errors import LocalError, TargetError
from ledgence.local._packages import PackageError, read_package
from ledgence.local._packages import _reader as reading
from tests.support.packages import archive, bare_archive, entry, manifest


def refusal(data):
    with pytest.raises(PackageError) as caught:
        read_package(data)
    return caught.value


def test_a_plain_archive_is_read():
    data = archive(("program.py", "x = 1"), "empty/", ("d/y", "2"))
    package = read_package(data)
    assert package.manifest.program_id == "p"
    assert package.entries == ("ledgence-program.json", "program.py", "empty/", "d/y")
    assert package.data is data


@pytest.mark.parametrize(
    "info",
    [
        pytest.param(entry("a", method=zipfile.ZIP_STORED), id="stored"),
        pytest.param(entry("a", mode=0), id="no-mode"),
        pytest.param(entry("a", mode=0o120777, system=0), id="mode-of-another-system"),
        pytest.param(entry("a/", mode=stat.S_IFDIR | 0o700), id="directory"),
        pytest.param(entry("x" * 255), id="longest-component"),
    ],
)
def test_what_the_contract_allows_is_read(info):
    read_package(archive(info))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("/a", id="absolute"),
        pytest.param("../a", id="up"),
        pytest.param("a/../b", id="up-inside"),
        pytest.param("./a", id="here"),
        pytest.param("a//b", id="empty-component"),
        pytest.param("a//", id="two-slashes-at-end"),
        pytest.param("a\\b", id="backslash"),
        pytest.param("c:a", id="drive"),
        pytest.param("a\x00b", id="nul"),
        pytest.param("a\tb", id="tab"),
        pytest.param("é", id="not-ascii"),
        pytest.param("a./b", id="dot-at-end"),
        pytest.param("aux", id="device"),
        pytest.param("AuX.py", id="device-any-case"),
        pytest.param("x" * 256, id="long-component"),
        pytest.param("/".join(["x" * 200] * 6), id="long-path"),
    ],
)
def test_each_path_rule_holds(name):
    info = entry("place", mode=0)
    info.filename = name
    assert refusal(archive(info)).code == "package_path"


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("a", "A"), id="case"),
        pytest.param(("d/a", "D/b"), id="case-of-parents"),
        pytest.param(("a", "a/b"), id="file-and-parent"),
        pytest.param(("a/b", "a"), id="parent-and-file"),
        pytest.param(("a", "a/"), id="file-and-directory"),
    ],
)
def test_paths_that_collide_are_refused(names):
    assert refusal(archive(*names)).code == "package_path"


@pytest.mark.parametrize("name", ["a", "a/"], ids=["file", "directory"])
def test_a_path_that_occurs_twice_is_refused(name):
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = archive(name, name)
    assert refusal(data).code == "package_path"


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        pytest.param("a", stat.S_IFLNK | 0o777, id="link"),
        pytest.param("a", stat.S_IFIFO | 0o644, id="pipe"),
        pytest.param("a", stat.S_IFCHR | 0o644, id="device"),
        pytest.param("a", stat.S_IFDIR | 0o755, id="directory-without-slash"),
        pytest.param("a/", stat.S_IFREG | 0o644, id="file-with-slash"),
    ],
)
def test_only_files_and_directories_are_taken(name, mode):
    assert refusal(archive(entry(name, mode=mode))).code == "package_link"


def patched(data, offset, value, *, central):
    """Change a field of the last entry's header."""
    mark = b"PK\x01\x02" if central else b"PK\x03\x04"
    at = data.rfind(mark) + offset
    return data[:at] + value + data[at + len(value) :]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"PK", id="two-bytes"),
        pytest.param(b"x" * 100, id="noise"),
        pytest.param(archive()[:-1], id="cut"),
        pytest.param(archive() + b"x", id="more-at-the-end"),
        pytest.param(b"x" + archive(), id="more-at-the-start"),
        pytest.param(bare_archive(), id="no-entries"),
        pytest.param(bare_archive(("program.py", "")), id="no-manifest"),
        pytest.param(
            bare_archive(("d/ledgence-program.json", manifest())), id="manifest-inside"
        ),
        pytest.param(archive(entry("a", method=zipfile.ZIP_BZIP2)), id="bzip2"),
        pytest.param(archive(entry("a", method=zipfile.ZIP_LZMA)), id="lzma"),
        pytest.param(
            patched(archive("a"), 8, b"\x01\x00", central=True), id="encrypted"
        ),
        pytest.param(
            patched(archive(("a", "1")), 16, b"\0\0\0\0", central=True), id="checksum"
        ),
        pytest.param(
            patched(archive(("a", "1")), 24, b"\x02\0\0\0", central=True),
            id="too-short",
        ),
        pytest.param(
            patched(archive(("a", "12")), 24, b"\x01\0\0\0", central=True),
            id="too-long",
        ),
        pytest.param(patched(archive("a"), 30, b"b", central=False), id="other-name"),
        pytest.param(patched(archive("a"), 0, b"PKxx", central=False), id="no-header"),
        pytest.param(
            patched(archive("a"), 42, b"\xff\xff\0\0", central=True), id="far-away"
        ),
        pytest.param(patched(archive("a"), 6, b"\x63\0", central=True), id="version"),
        pytest.param(archive(("a/", "content")), id="directory-with-content"),
    ],
)
def test_what_is_no_sound_archive_is_refused(data):
    assert refusal(data).code == "package_archive"


def test_zip64_is_refused_in_an_entry_and_at_the_end():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        info = entry("ledgence-program.json")
        with file.open(info, "w", force_zip64=True) as member:
            member.write(manifest().encode())
    assert refusal(buffer.getvalue()).details["got"] == "ZIP64"
    data = archive()
    end = struct.Struct("<4s4H2IH")
    fields = list(end.unpack(data[-end.size :]))
    for place, value in ((3, 0xFFFF), (5, 0xFFFFFFFF), (6, 0xFFFFFFFF), (1, 1)):
        changed = fields.copy()
        changed[place] = value
        if place == 3:
            changed[4] = value
        broken = data[: -end.size] + end.pack(*changed)
        assert refusal(broken).code == "package_archive"
    locator = b"PK\x06\x07" + bytes(16)
    moved = data[: -end.size] + locator + data[-end.size :]
    assert refusal(moved).code == "package_archive"


def test_a_zip64_field_in_the_directory_is_refused():
    info = entry("a")
    info.extra = struct.pack("<2HQ", 1, 8, 0)
    data = archive(info)
    assert refusal(data).code == "package_archive"


def test_entries_that_share_bytes_are_refused():
    data = archive(("a", "1" * 1000), ("b", "1" * 1000))
    at = data.rfind(b"PK\x01\x02")
    first = data.find(b"PK\x03\x04", 1)
    shared = data[: at + 42] + struct.pack("<I", first) + data[at + 46 :]
    shared = shared[: at + 46] + b"a" + shared[at + 47 :]
    assert refusal(shared).code == "package_archive"


@pytest.mark.parametrize(
    ("limit", "value"), [("FILE_BYTES", 500), ("UNPACKED_BYTES", 800), ("ENTRIES", 3)]
)
def test_each_limit_holds_at_its_boundary(monkeypatch, limit, value):
    monkeypatch.setattr(reading, limit, value)
    base = len(manifest())
    good = {
        "FILE_BYTES": archive(("a", "x" * 500)),
        "UNPACKED_BYTES": archive(("a", "x" * (800 - base))),
        "ENTRIES": archive("a", "b"),
    }
    bad = {
        "FILE_BYTES": archive(("a", "x" * 501)),
        "UNPACKED_BYTES": archive(("a", "x" * (801 - base))),
        "ENTRIES": archive("a", "b", "c/"),
    }
    read_package(good[limit])
    assert refusal(bad[limit]).code in ("package_size", "package_archive")


def test_the_archive_has_at_most_64_mib(monkeypatch):
    data = archive()
    monkeypatch.setattr(reading, "ARCHIVE_BYTES", len(data))
    read_package(data)
    monkeypatch.setattr(reading, "ARCHIVE_BYTES", len(data) - 1)
    assert refusal(data).code == "package_archive"


def test_a_bundled_helper_is_refused():
    assert refusal(archive("ledgence/__init__.py")).code == "package_reserved"


def test_a_huge_manifest_is_refused():
    data = bare_archive(("ledgence-program.json", " " * 5_000_000))
    with pytest.raises(TargetError, match="manifest_invalid"):
        read_package(data)


SOUND = archive(("program.py", "x = 1\n" * 50), "empty/", ("d/y", "2"))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, len(SOUND) - 1), st.integers(0, 255)), max_size=4
    ),
    st.integers(0, len(SOUND)),
)
def test_damaged_bytes_are_read_or_refused(changes, cut):
    data = bytearray(SOUND)
    for place, value in changes:
        data[place] = value
    damaged = bytes(data) if cut % 3 else bytes(data[:cut])
    with contextlib.suppress(LocalError):
        read_package(damaged)
