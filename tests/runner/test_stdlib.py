"""Whose names are whose: the table of the contract and the finder behind it."""

import sys
import types

import pytest

from ledgence.worker import _stdlib
from ledgence.worker._stdlib import Reserved, table


@pytest.mark.parametrize(
    ("name", "protocols"),
    [
        ("json", {1, 2, 3}),
        ("os", {1, 2, 3}),
        ("ledgence", {1, 2, 3}),
        ("logging", {2, 3}),
        ("datetime", {2, 3}),
        ("string", {2, 3}),
        ("threading", {2, 3}),
        ("asyncio", {3}),
        ("socket", {3}),
        ("select", {3}),
        ("statistics", set()),
        ("hashlib", set()),
        ("gc", set()),
        ("workflow", set()),
        ("worker", set()),
    ],
)
def test_the_table_knows_the_protocols(name, protocols):
    assert {n for n in (1, 2, 3) if name in table(n)} == protocols


@pytest.mark.parametrize(
    ("version", "has", "lacks"),
    [
        ((3, 11), "urllib", "grp"),
        ((3, 12), "ipaddress", "pwd"),
        ((3, 13), "glob", "urllib"),
    ],
)
def test_the_table_knows_the_versions(version, has, lacks):
    assert has in table(1, version)
    assert lacks not in table(1, version)


@pytest.fixture
def library(tmp_path):
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "argparse.py").write_text("WHOSE = 'library'\n")
    (tmp_path / "library" / "hashlib.py").write_text("WHOSE = 'library'\n")
    (tmp_path / "library" / "_heapq.py").write_text("WHOSE = 'library'\n")
    return [str(tmp_path / "library")]


def test_reserved_names_are_found_in_the_library_only(library):
    finder = Reserved(table(1), library)
    spec = finder.find_spec("argparse")
    assert spec.origin == f"{library[0]}/argparse.py"
    assert finder.find_spec("_heapq").origin == f"{library[0]}/_heapq.py"


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("hashlib", None),
        ("_app", None),
        ("ledgence", None),
        ("argparse", ["/x"]),
        ("_bisect", None),
    ],
)
def test_other_names_are_left_to_the_other_finders(library, name, path):
    assert Reserved(table(1), library).find_spec(name, path) is None


def test_a_reserved_name_that_the_library_lacks_is_found_nowhere(library):
    with pytest.raises(ModuleNotFoundError) as caught:
        Reserved(table(1), library).find_spec("textwrap")
    assert caught.value.name == "textwrap"


@pytest.fixture
def reserved(monkeypatch, library):
    """As in a runner of protocol 1 with this library, without its finder."""
    monkeypatch.setattr(_stdlib, "_reserved", Reserved(table(1), library))
    monkeypatch.setattr(_stdlib, "_private", {})
    return library


def test_reserving_puts_the_finder_before_the_path(monkeypatch):
    monkeypatch.setattr(_stdlib, "_reserved", None)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    _stdlib.reserve(3)
    kinds = [getattr(f, "__name__", type(f).__name__) for f in sys.meta_path]
    assert kinds.index("Reserved") == kinds.index("PathFinder") - 1
    assert "asyncio" in _stdlib._reserved.names
    assert _stdlib._reserved.paths == sys.path[1:]


@pytest.mark.parametrize(
    ("module", "taken"),
    [
        ("json", True),
        ("argparse", True),
        ("_heapq", True),
        ("argparse.sub", True),
        ("ledgence.app", True),
        ("sys", True),
        ("__main__", True),
        ("statistics_of_mine", False),
        ("_app", False),
        ("a.json", False),
    ],
)
def test_a_name_is_taken_by_the_table_or_by_a_loaded_module(reserved, module, taken):
    assert _stdlib.is_taken(module) is taken


def test_a_loaded_package_or_part_takes_the_name(reserved, monkeypatch):
    monkeypatch.setitem(sys.modules, "mine.sub", types.ModuleType("mine.sub"))
    assert _stdlib.is_taken("mine.sub.deep")
    assert not _stdlib.is_taken("mine.other")


def module_at(name, origin):
    module = types.ModuleType(name)
    module.__spec__ = types.SimpleNamespace(origin=origin)
    return module


def test_a_module_is_the_librarys_by_its_origin(reserved):
    own = f"{reserved[0]}/hashlib.py"
    assert _stdlib.is_standard("hashlib", module_at("hashlib", own))
    assert _stdlib.is_standard("gc", module_at("gc", "built-in"))
    assert _stdlib.is_standard("os", module_at("os", "frozen"))
    assert not _stdlib.is_standard("hashlib", module_at("hashlib", "/a/hashlib.py"))
    assert not _stdlib.is_standard("absent", module_at("absent", "/a/absent.py"))
    assert not _stdlib.is_standard("hashlib", types.ModuleType("hashlib"))
    assert not _stdlib.is_standard("hashlib", None)


def test_outside_a_runner_every_module_counts_as_the_librarys():
    assert _stdlib.is_standard("anything", object())
    assert not _stdlib.is_shadowed("logging")
    assert not _stdlib.is_taken("some_new_name")


def test_a_free_name_is_shadowed_by_a_file_or_a_loaded_module(
    reserved, monkeypatch, tmp_path
):
    (tmp_path / "artifact").mkdir()
    (tmp_path / "artifact" / "hashlib.py").write_text("")
    monkeypatch.delitem(sys.modules, "hashlib", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "artifact"), *reserved])
    assert _stdlib.is_shadowed("hashlib")
    assert not _stdlib.is_shadowed("argparse")
    monkeypatch.setattr(sys, "path", reserved)
    assert not _stdlib.is_shadowed("hashlib")
    monkeypatch.setitem(sys.modules, "hashlib", module_at("hashlib", "/a/hashlib.py"))
    assert _stdlib.is_shadowed("hashlib")
    assert not _stdlib.is_shadowed("absent_everywhere")


def test_load_gives_the_librarys_module_and_takes_no_name(reserved, monkeypatch):
    fake = module_at("hashlib", "/artifact/hashlib.py")
    monkeypatch.setitem(sys.modules, "hashlib", fake)
    loaded = _stdlib.load("hashlib")
    assert loaded.WHOSE == "library"
    assert sys.modules["hashlib"] is fake
    assert _stdlib.load("hashlib") is loaded


def test_load_shares_a_module_that_the_program_has_loaded(reserved, monkeypatch):
    own = module_at("hashlib", f"{reserved[0]}/hashlib.py")
    monkeypatch.setitem(sys.modules, "hashlib", own)
    assert _stdlib.load("hashlib") is own


def test_load_knows_builtin_modules(reserved, monkeypatch):
    monkeypatch.setitem(sys.modules, "gc", module_at("gc", "/artifact/gc.py"))
    assert _stdlib.load("gc").isenabled() in (True, False)


def test_load_of_what_does_not_exist_is_an_import_error(reserved):
    with pytest.raises(ModuleNotFoundError) as caught:
        _stdlib.load("no_such_module_at_all")
    assert caught.value.name == "no_such_module_at_all"


def test_outside_a_runner_load_is_an_import(monkeypatch):
    import hashlib

    assert _stdlib.load("hashlib") is hashlib
    monkeypatch.delitem(sys.modules, "this_one", raising=False)
    with pytest.raises(ImportError):
        _stdlib.load("this_one")
    import colorsys

    monkeypatch.delitem(sys.modules, "colorsys")
    assert _stdlib.load("colorsys").__name__ == colorsys.__name__
