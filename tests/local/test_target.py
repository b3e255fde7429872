import sys

import pytest

from ledgence.local._errors import TargetError
from ledgence.local._manifest import Manifest
from ledgence.local._target import Target, find_interpreter, find_target
from tests.support.programs import ARCH, HERE, SYSTEM, write_manifest


def refusal(text, **options):
    with pytest.raises(TargetError) as caught:
        find_target(str(text), **options)
    return caught.value


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("def handle(event): ...\nasync def other(event): ...\nLIMIT = 5\n")
    return path


def test_a_file_and_a_function_are_a_target(program):
    target = find_target(f"{program}:handle")
    assert target == Target(program.parent, "program:handle", 3, None)


@pytest.mark.parametrize("name", ["other", "LIMIT"])
def test_whatever_a_module_defines_may_be_the_handler(program, name):
    assert find_target(f"{program}:{name}").handler == f"program:{name}"


def test_a_protocol_that_is_asked_for_counts(program):
    assert find_target(f"{program}:handle", protocol=1).protocol == 1


def test_a_module_of_a_package_is_named_from_the_packages_root(tmp_path):
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "outer" / "__init__.py").touch()
    (inner / "__init__.py").write_text("def handle(event): ...")
    (inner / "mod.py").write_text("def handle(event): ...")
    assert find_target(f"{inner}/mod.py:handle").handler == "outer.inner.mod:handle"
    found = find_target(f"{inner}/__init__.py:handle")
    assert (found.root, found.handler) == (tmp_path, "outer.inner:handle")


def test_a_relative_path_becomes_absolute(program, monkeypatch):
    monkeypatch.chdir(program.parent)
    assert find_target("program.py:handle").root == program.parent


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        pytest.param(
            "program.py:hande",
            "target_function",
            "program.py:handle",
            id="misspelt-function",
        ),
        pytest.param(
            "program.py", "target_function", "program.py:handle", id="no-function"
        ),
        pytest.param(
            "program.py:", "target_function", "program.py:handle", id="empty-function"
        ),
        pytest.param(
            "program.py:zzz", "target_function", "program.py:handle", id="unlike-any"
        ),
        pytest.param(
            "program.py:han dle",
            "target_function",
            "program.py:handle",
            id="no-identifier",
        ),
        pytest.param(
            "progam.py:handle", "target_not_found", "program.py", id="misspelt-file"
        ),
        pytest.param(
            "program:handle", "target_not_found", "program.py", id="without-suffix"
        ),
        pytest.param(
            "nowhere/x.py:handle",
            "target_not_found",
            "path/to/program.py",
            id="no-directory",
        ),
        pytest.param(
            "notes.txt:handle",
            "target_not_python",
            "program.py:function",
            id="another-suffix",
        ),
        pytest.param(
            "my-program.py:handle",
            "target_name",
            "my_program.py",
            id="unimportable-name",
        ),
        pytest.param(
            ".:handle",
            "target_directory_function",
            "program.py:handle",
            id="directory-with-function",
        ),
        pytest.param(
            ".",
            "manifest_missing",
            "program.py:handle",
            id="directory-without-manifest",
        ),
        pytest.param("", "manifest_missing", "program.py:handle", id="empty"),
    ],
)
def test_a_near_miss_is_told(program, monkeypatch, text, code, hint):
    monkeypatch.chdir(program.parent)
    (program.parent / "notes.txt").touch()
    (program.parent / "my-program.py").touch()
    error = refusal(text)
    assert error.code == code
    assert hint in error.hint


def test_a_miss_lists_what_the_module_defines(program):
    assert "other" in refusal(f"{program}:x").details["defines"]


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("from os.path import *", id="star-import"),
        pytest.param("def __getattr__(name): ...", id="module-getattr"),
        pytest.param("globals()['handle'] = print", id="globals"),
        pytest.param("import sys\nsys.modules[__name__].handle = 1", id="modules"),
        pytest.param("def broken(:", id="syntax-error"),
    ],
)
def test_what_only_shows_when_it_runs_is_left_to_the_runner(tmp_path, source):
    path = tmp_path / "dynamic.py"
    path.write_text(source)
    assert find_target(f"{path}:handle").handler == "dynamic:handle"


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("from other import handle", id="import-from"),
        pytest.param("import handle", id="import"),
        pytest.param("from other import x as handle", id="alias"),
        pytest.param("class handle: ...", id="class"),
        pytest.param("a, handle = 1, 2", id="unpacking"),
        pytest.param("handle: int = 5", id="annotated"),
        pytest.param("if True:\n  def handle(e): ...", id="conditional"),
        pytest.param("(handle := 5)", id="walrus"),
        pytest.param("for handle in (): ...", id="loop"),
    ],
)
def test_every_way_to_define_a_name_is_seen(tmp_path, source):
    path = tmp_path / "named.py"
    path.write_text(source)
    assert find_target(f"{path}:handle").handler == "named:handle"


def test_a_program_directory_is_a_target(tmp_path):
    write_manifest(tmp_path)
    target = find_target(f"{tmp_path}/")
    assert (target.root, target.handler, target.protocol) == (
        tmp_path,
        "program:handle",
        2,
    )
    assert target.manifest is not None


def test_the_manifests_protocol_cannot_be_overruled(tmp_path):
    write_manifest(tmp_path)
    assert find_target(str(tmp_path), protocol=2).protocol == 2
    error = refusal(tmp_path, protocol=3)
    assert (error.code, error.kind) == ("protocol_mismatch", "incompatible")


def test_a_package_for_another_platform_is_incompatible(tmp_path):
    other = "aarch64" if ARCH == "x86_64" else "x86_64"
    write_manifest(tmp_path, platform={"os": SYSTEM, "arch": other})
    error = refusal(tmp_path)
    assert (error.code, error.kind) == ("platform_mismatch", "incompatible")


def test_a_bad_manifest_is_told_as_such(tmp_path):
    write_manifest(tmp_path, handler="a:b:c")
    assert refusal(tmp_path).code == "manifest_invalid"


def test_an_unreadable_manifest_is_told_as_such(tmp_path):
    (tmp_path / "ledgence-program.json").mkdir()
    assert "Is a directory" in refusal(tmp_path).summary


# The interpreter.


def needing(version):
    wanted = Manifest("p", "1", version, 3, "program:handle", SYSTEM, ARCH)
    return Target(None, "program:handle", 3, wanted)


ANY = Target(None, "program:handle", 3, None)


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A search path of its own; returns how to put a command there."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def put(name, script):
        file = tmp_path / name
        file.write_text(script)
        file.chmod(0o755)
        return file

    return put


def test_this_interpreter_is_taken_when_it_fits():
    for target in (ANY, needing(HERE)):
        found = find_interpreter(None, target)
        assert (found.path, found.version) == (sys.executable, HERE)


def test_an_interpreter_that_is_named_is_asked_for_its_version():
    found = find_interpreter(sys.executable, ANY)
    assert (found.path, found.version) == (sys.executable, HERE)


def test_a_package_of_another_version_finds_it_on_the_search_path(path):
    file = path("python3.77", "#!/bin/sh\necho cpython 3.77\n")
    found = find_interpreter(None, needing("3.77"))
    assert (found.path, found.version) == (str(file), "3.77")


@pytest.mark.parametrize(
    ("script", "code"),
    [
        pytest.param("#!/bin/sh\necho cpython 3.76\n", "python_mismatch", id="other"),
        pytest.param("#!/bin/sh\necho pypy 3.77\n", "python_unusable", id="pypy"),
        pytest.param("#!/bin/sh\necho cpython 3.10\n", "python_unusable", id="old"),
        pytest.param("#!/bin/sh\nexit 1\n", "python_unusable", id="fails"),
        pytest.param("#!/bin/sh\necho hello\n", "python_unusable", id="one-word"),
        pytest.param("#!/bin/sh\necho cpython x.y\n", "python_unusable", id="words"),
        pytest.param("#!/no/such/shell\n", "python_unusable", id="not-executable"),
    ],
)
def test_an_interpreter_that_does_not_fit_is_refused(path, script, code):
    path("python3.77", script)
    with pytest.raises(TargetError) as caught:
        find_interpreter(None, needing("3.77"))
    assert caught.value.code == code


def test_a_missing_interpreter_is_told_with_what_is_needed(path):
    with pytest.raises(TargetError) as caught:
        find_interpreter(None, needing("3.77"))
    assert caught.value.code == "python_not_found"
    assert caught.value.details["needed"] == "Python 3.77"
    with pytest.raises(TargetError) as caught:
        find_interpreter("nopython", ANY)
    assert caught.value.code == "python_not_found"


def test_an_unusable_interpreter_is_told_with_the_version_that_is_needed(path):
    path("python3.77", "#!/bin/sh\nexit 1\n")
    with pytest.raises(TargetError) as caught:
        find_interpreter(None, needing("3.77"))
    assert caught.value.details["needed"] == "Python 3.77"
