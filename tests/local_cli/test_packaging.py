"""``program package``, ``publish`` and ``list``."""

import json

import pytest

from tests.support.packages import archive, write_tree


@pytest.fixture
def shop(tmp_path):
    return write_tree(tmp_path / "shop", {".env": "secret"})


def test_packing_gives_the_descriptor_of_the_file(ledgence, shop, tmp_path):
    done = ledgence("program", "package", shop, "--json")
    assert done.code == 0
    (descriptor,) = done.results
    data = (tmp_path / "p-1.zip").read_bytes()
    assert descriptor["size"] == len(data)
    assert descriptor["program"] == {"id": "p", "version": "1"}
    assert "left out: .env" in done.err
    assert ledgence("program", "package", shop, "-o", "x.zip").code == 0
    assert (tmp_path / "x.zip").read_bytes() == data


def test_a_directory_and_its_archive_are_the_same_publication(ledgence, shop):
    ledgence("program", "package", shop)
    first = ledgence("program", "publish", "p-1.zip")
    again = ledgence("program", "publish", shop)
    assert first.code == again.code == 0
    assert "published  now" in first.out
    assert "published  before" in again.out
    assert "p        1        sha256:" in ledgence("program", "list").out


def test_other_bytes_under_a_version_are_refused(ledgence, shop):
    ledgence("program", "publish", shop)
    (shop / "more.py").write_text("")
    done = ledgence("program", "publish", shop, "--json")
    assert (done.code, done.out) == (1, "")
    assert json.loads(done.err.splitlines()[-1])["error"]["code"] == "program_conflict"


def test_another_directory_of_programs_may_be_named(ledgence, shop, tmp_path):
    done = ledgence("program", "publish", shop, "--into", "there")
    assert done.code == 0
    assert (tmp_path / "there/programs/p/1/descriptor.json").is_file()
    assert ledgence("program", "list").err == "no programs\n"


@pytest.mark.parametrize("verb", ["package", "publish"])
def test_what_is_no_program_is_exit_2(ledgence, tmp_path, verb):
    done = ledgence("program", verb, "nothing")
    assert done.code == 2
    assert "package_source" in done.err
    write_tree(tmp_path / "bad", handler="a:b:c")
    done = ledgence("program", verb, "bad")
    assert done.code == 2
    assert "manifest_invalid" in done.err


def test_an_archive_that_is_hostile_is_exit_2(ledgence, tmp_path):
    (tmp_path / "x.zip").write_bytes(archive("../up"))
    done = ledgence("program", "publish", "x.zip")
    assert done.code == 2
    assert "package_path" in done.err


def test_an_archive_that_cannot_be_written_is_told(ledgence, shop):
    assert ledgence("program", "package", shop, "-o", "no/x.zip").code == 2


def test_an_archive_is_not_put_where_it_would_be_packed(ledgence, shop, monkeypatch):
    monkeypatch.chdir(shop)
    done = ledgence("program", "package", ".")
    assert done.code == 2
    assert "-o ../p-1.zip" in done.err
    assert not (shop / "p-1.zip").exists()
    (shop / ".dist").mkdir()
    assert ledgence("program", "package", ".", "-o", ".dist/p.zip").code == 0
    assert ledgence("program", "package", ".", "-o", "../p.zip").code == 0
