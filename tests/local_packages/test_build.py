"""Packing: what goes in, what is refused, and that the bytes are always the same."""

import io
import os
import random
import socket
import stat
import zipfile

import pytest

from ledgence.local._errors import TargetError
from ledgence.local._packages import PackageError, build_package, collect, read_package
from ledgence.local._packages import _collect as collecting
from tests.support.packages import write_tree


def refusal(root):
    with pytest.raises(PackageError) as caught:
        build_package(root)
    return caught.value


def infos(package):
    with zipfile.ZipFile(io.BytesIO(package.data)) as archive:
        return archive.infolist()


def test_the_same_files_give_the_same_bytes_whatever_else_differs(tmp_path):
    files = {"b/x.py": "1", "a.txt": "2", "a/y": "3", "empty": None, "b/z/": None}
    names = list(files)
    random.Random(7).shuffle(names)
    one = write_tree(tmp_path / "one", files)
    two = write_tree(tmp_path / "two", {name: files[name] for name in names})
    os.utime(two / "a.txt", (1, 1))
    (two / "a.txt").chmod(0o600)
    (two / "b").chmod(0o700)
    assert build_package(one).data == build_package(two).data


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda root: (root / "a").write_text("2"), id="content"),
        pytest.param(lambda root: (root / "a").rename(root / "b"), id="name"),
        pytest.param(lambda root: (root / "a").chmod(0o744), id="execute-bit"),
        pytest.param(lambda root: (root / "empty").rmdir(), id="empty-directory"),
        pytest.param(lambda root: (root / "more").mkdir(), id="new-directory"),
    ],
)
def test_whatever_is_packed_counts(tmp_path, change):
    root = write_tree(tmp_path / "p", {"a": "1", "empty": None})
    before = build_package(root)
    change(root)
    assert build_package(root).digest != before.digest


def test_entries_are_sorted_component_by_component(tmp_path):
    root = write_tree(tmp_path, {"a/b": "", "a.txt": "", "a-/c": "", "B": ""})
    assert build_package(root).entries == (
        "B",
        "a/",
        "a/b",
        "a-/",
        "a-/c",
        "a.txt",
        "ledgence-program.json",
        "program.py",
    )


def test_entries_have_the_earliest_time_plain_modes_and_are_deflated(tmp_path):
    root = write_tree(tmp_path, {"d/run": "#!/bin/sh\n", "d/text": "x"})
    (root / "d/run").chmod(0o710)
    found = {one.filename: one for one in infos(build_package(root))}
    modes = {name: one.external_attr >> 16 for name, one in found.items()}
    assert modes["d/"] == stat.S_IFDIR | 0o755
    assert modes["d/run"] == stat.S_IFREG | 0o754
    assert modes["d/text"] == stat.S_IFREG | 0o644
    assert {one.date_time for one in found.values()} == {(1980, 1, 1, 0, 0, 0)}
    assert {one.create_system for one in found.values()} == {3}
    methods = {one.compress_type for name, one in found.items() if name != "d/"}
    assert methods == {zipfile.ZIP_DEFLATED}
    assert all(not one.extra and not one.flag_bits for one in found.values())


def test_a_built_package_passes_the_check_of_foreign_ones(tmp_path):
    root = write_tree(tmp_path, {"data/big": "x" * 300_000, "empty": None})
    built = build_package(root)
    read = read_package(built.data)
    assert (read.digest, read.entries) == (built.digest, built.entries)
    assert read.manifest == built.manifest


def test_what_is_private_or_derived_is_left_out_and_told(tmp_path):
    kept = {"keys.py": "", "certificate.pem": "", "credentials.py": ""}
    left = {
        ".git/config": "",
        ".env": "",
        "__pycache__/program.cpython-312.pyc": "",
        "lib/old.pyc": "",
        "venv/pyvenv.cfg": "",
        "node_modules/x.js": "",
        "id_rsa": "",
        "lib/credentials.json": "",
    }
    package = build_package(write_tree(tmp_path, kept | left))
    files = [name for name in package.entries if not name.endswith("/")]
    assert files == sorted([*kept, "ledgence-program.json", "program.py"])
    assert set(package.skipped) == {
        *(".git", ".env", "__pycache__", "lib/old.pyc", "venv", "node_modules"),
        *("id_rsa", "lib/credentials.json"),
    }


def test_the_store_of_a_host_is_no_part_of_the_program(tmp_path):
    from ledgence.local._store import HostLock, SqliteStore

    root = write_tree(tmp_path, {"web-host": "", "web": "no database"})
    before = build_package(root).entries
    with SqliteStore(root / "my.db"), HostLock(root / "my.db", "host_1"):
        (root / "my.db.programs").mkdir()
        package = build_package(root)
    assert package.entries == before
    assert {"my.db", "my.db-host", "my.db.programs"} <= set(package.skipped)


@pytest.mark.parametrize("kind", ["file", "directory", "nothing"])
def test_links_are_refused_wherever_they_point(tmp_path, kind):
    root = write_tree(tmp_path, {"d/x": ""})
    (root / "link").symlink_to({"file": "program.py", "directory": "d"}.get(kind, "?"))
    error = refusal(root)
    assert (error.code, error.details["path"]) == ("package_link", "link")


def test_a_link_that_is_left_out_is_no_trouble(tmp_path):
    root = write_tree(tmp_path)
    (root / ".link").symlink_to("anywhere")
    build_package(root)


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_special_files_are_refused(tmp_path, monkeypatch, kind):
    root = write_tree(tmp_path)
    if kind == "pipe":
        os.mkfifo(root / "special")
    else:
        monkeypatch.chdir(root)  # the path of a socket is short
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind("special")
    assert refusal(root).code == "package_link"


def test_a_file_that_turns_into_another_is_not_packed(tmp_path, monkeypatch):
    root = write_tree(tmp_path, {"a": "1"})
    entries = collect(root)
    for change in (
        lambda: (root / "a").write_text("12"),
        lambda: (root / "a").write_text(""),
        lambda: ((root / "a").unlink(), (root / "a").symlink_to("program.py")),
    ):
        change()
        monkeypatch.setattr(
            "ledgence.local._packages._archive.collect", lambda *_, **__: entries
        )
        assert refusal(root).code == "package_source"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("é.txt", id="not-ascii"),
        pytest.param("a:b", id="colon"),
        pytest.param("a\\b", id="backslash"),
        pytest.param("a\nb", id="newline"),
        pytest.param("a\x7f", id="delete"),
        pytest.param("a.", id="dot-at-end"),
        pytest.param("a ", id="space-at-end"),
        pytest.param("NUL", id="device"),
        pytest.param("com1.txt", id="device-with-suffix"),
        pytest.param("d/lpt9", id="device-inside"),
    ],
)
def test_paths_that_are_not_portable_are_refused(tmp_path, name):
    error = refusal(write_tree(tmp_path, {name: ""}))
    assert (error.code, error.details["path"]) == ("package_path", ascii(name))


@pytest.mark.parametrize("name", ["com0", "com10", "console", "nul_", "a b", "a..b"])
def test_paths_that_only_look_alike_are_packed(tmp_path, name):
    assert name in build_package(write_tree(tmp_path, {name: ""})).entries


def test_names_that_differ_by_case_alone_are_refused(tmp_path):
    root = write_tree(tmp_path, {"lib/a": "", "Lib2/x": "", "lib2/y": ""})
    if len(list(root.iterdir())) < 5:
        pytest.skip("this file system takes them for one")
    assert refusal(root).code == "package_path"


def test_a_path_has_at_most_1024_bytes(tmp_path):
    deep = "/".join(["d" * 200] * 5)
    write_tree(tmp_path, {f"{deep}/{'x' * 19}": ""})
    build_package(tmp_path)
    write_tree(tmp_path, {f"{deep}/{'x' * 20}": ""})
    assert refusal(tmp_path).code == "package_path"


@pytest.mark.parametrize(
    ("limit", "most"),
    [("ENTRIES", 4), ("FILE_BYTES", 400), ("UNPACKED_BYTES", 700)],
)
def test_each_limit_holds_at_its_boundary(tmp_path, monkeypatch, limit, most):
    sizes = {"ENTRIES": 10, "FILE_BYTES": 400, "UNPACKED_BYTES": 0}
    root = write_tree(tmp_path, {"a": "", "b": "x" * sizes[limit]})
    if limit == "UNPACKED_BYTES":
        together = sum(one.size for one in collect(root))
        (root / "a").write_text("x" * (most - together))
    monkeypatch.setattr(collecting, limit, most)
    build_package(root)
    with (root / "b").open("a") as file:
        file.write("x")
    (root / "c").write_text("")
    error = refusal(root)
    assert error.code == "package_size"
    assert str(most) in error.details["expected"]


def test_the_archive_itself_is_limited(tmp_path, monkeypatch):
    noise = random.Random(1).randbytes(50_000)
    root = write_tree(tmp_path)
    (root / "noise").write_bytes(noise)
    size = len(build_package(root).data)
    monkeypatch.setattr("ledgence.local._packages._archive.ARCHIVE_BYTES", size)
    build_package(root)
    monkeypatch.setattr("ledgence.local._packages._archive.ARCHIVE_BYTES", size - 1)
    assert refusal(root).code == "package_size"


@pytest.mark.parametrize(
    "path", ["ledgence/__init__.py", "ledgence/worker/__init__.py", "ledgence/worker/x"]
)
def test_the_helper_itself_may_not_be_bundled(tmp_path, path):
    assert refusal(write_tree(tmp_path, {path: ""})).code == "package_reserved"


def test_other_distributions_may_share_the_namespace(tmp_path):
    build_package(write_tree(tmp_path, {"ledgence/client/__init__.py": ""}))


def test_a_directory_without_a_manifest_is_no_program(tmp_path):
    (tmp_path / "program.py").write_text("")
    assert refusal(tmp_path).code == "package_source"


def test_a_bad_manifest_is_told_as_such(tmp_path):
    with pytest.raises(TargetError, match="manifest_invalid"):
        build_package(write_tree(tmp_path, handler="a:b:c"))


def test_a_directory_that_is_not_there_is_told(tmp_path):
    assert refusal(tmp_path / "nothing").code == "package_source"
