"""Publishing, resolving and unpacking, also beside others and after kills."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ledgence.local._engine import Descriptor, Engine, Program, Unavailable
from ledgence.local._errors import LocalError
from ledgence.local._packages import (
    PackageError,
    ProgramStore,
    build_package,
    read_package,
)
from ledgence.local._store import SqliteStore
from tests.support.local_cli import PATIENCE, ROOT, environment
from tests.support.packages import archive, write_tree

P1 = Program("p", "1")


@pytest.fixture
def store(tmp_path):
    return ProgramStore(tmp_path / "store")


def package(text="1", **changes):
    return read_package(archive(("program.py", text), **changes))


def contents(directory):
    """Every file of a store with its bytes, the lock apart."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name != "lock"
    }


def test_an_empty_store_resolves_nothing_and_makes_nothing(store):
    assert store.resolve(P1) is None
    assert list(store.programs()) == []
    assert not store.directory.exists()


def test_a_published_program_is_resolved_by_id_and_version(store):
    given = package()
    published = store.put(given)
    assert not published.already_published
    assert published.descriptor == Descriptor(P1, given.digest, len(given.data))
    assert store.resolve(P1) == published.descriptor
    assert store.resolve(Program("p", "2")) is None
    assert store.resolve(Program("q", "1")) is None
    assert ProgramStore(store.directory).resolve(P1) == published.descriptor


def test_the_layout_is_the_services(store):
    given = package()
    store.publish(given)
    name = given.digest.removeprefix("sha256:")
    text = (
        f'{{"program":{{"id":"p","version":"1"}},"digest":"{given.digest}"'
        f',"size":{len(given.data)}}}'
    )
    assert contents(store.directory) == {
        "programs/p/1/descriptor.json": text.encode(),
        f"blobs/{name}.zip": given.data,
    }


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("runtime", {"kind": "python", "python": "3.10", "protocol": 3}),
        ("runtime", {"kind": "python", "python": "3.012", "protocol": 3}),
        ("runtime", {"kind": "python", "python": "3.12", "protocol": 4}),
        ("handler", "a:b:c"),
        ("extra", 1),
    ],
    ids=["python-3.10", "python-3.012", "protocol-4", "two-colons", "extra-member"],
)
def test_S04_a_bad_manifest_is_refused_and_the_store_unchanged(store, member, value):
    store.publish(package())
    before = contents(store.directory)
    changes = {member: value, "program": {"id": "q", "version": "1"}}
    with pytest.raises(LocalError) as caught:
        store.publish(package(**changes))
    assert caught.value.code in ("manifest_invalid", "manifest_incompatible")
    assert contents(store.directory) == before


def test_S05_other_bytes_under_a_published_version_are_a_conflict(store):
    old = store.publish(package("1"))
    with SqliteStore() as records:
        engine = Engine(records, store)
        task = engine.submit_task(submission())
        before = contents(store.directory)
        with pytest.raises(PackageError) as caught:
            store.publish(package("2"))
        assert contents(store.directory) == before
        assignment = engine.claim(dispatch=True)
    assert (caught.value.code, caught.value.kind) == ("program_conflict", "conflict")
    assert caught.value.details["published"] == old.digest
    assert assignment.owner.task_id == task["task_id"]
    assert assignment.descriptor == old
    root, _ = store.root_of(assignment.descriptor)
    assert (root / "program.py").read_text() == "1"


def submission():
    taken = {"tenant_id": "t", "namespace": "n", "queue": "q", "data": None}
    return {"idempotency_key": "k", "input": {**taken, "program": P1.to_json()}}


def test_the_same_bytes_again_succeed(store):
    first = store.put(package())
    assert store.put(package()).descriptor == first.descriptor
    assert store.put(package()).already_published


def test_publishing_again_mends_a_blob_that_was_lost(store):
    descriptor = store.publish(package())
    (blob,) = (store.directory / "blobs").iterdir()
    for damage in (blob.unlink, lambda: blob.write_bytes(b"x" * descriptor.size)):
        damage()
        with pytest.raises(PackageError) as caught:
            ProgramStore(store.directory).root_of(descriptor)
        assert (caught.value.code, caught.value.kind) == (
            "program_damaged",
            "integrity",
        )
        assert store.put(package()).already_published
        ProgramStore(store.directory).root_of(descriptor)


@pytest.mark.parametrize(
    "program",
    [Program("..", "1"), Program("a/b", "1"), Program("p", "../p/1"), Program("P", "")],
    ids=str,
)
def test_a_name_never_leads_out_of_the_store(store, program):
    store.publish(package())
    assert store.resolve(program) is None


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda d: {**d, "size": 0}, id="size"),
        pytest.param(lambda d: {**d, "size": True}, id="size-true"),
        pytest.param(lambda d: {**d, "digest": "sha256:X"}, id="digest"),
        pytest.param(lambda d: {**d, "program": {"id": "q"}}, id="other-program"),
        pytest.param(lambda d: {**d, "more": 1}, id="more"),
        pytest.param(lambda d: [d], id="list"),
        pytest.param(lambda d: {**d, "digest": "x" * 17_000}, id="large"),
    ],
)
def test_a_damaged_descriptor_is_not_taken_for_a_missing_one(store, change):
    store.publish(package())
    path = store.directory / "programs/p/1/descriptor.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(Unavailable):
        store.resolve(P1)


def test_unpacking_gives_the_files_with_their_execute_bits(store, tmp_path):
    source = write_tree(tmp_path / "p", {"bin/run": "#!/bin/sh\n", "empty": None})
    (source / "bin/run").chmod(0o755)
    descriptor = store.publish(build_package(source))
    root, manifest = store.root_of(descriptor)
    assert manifest.handler == "program:handle"
    assert (root / "empty").is_dir()
    assert os.access(root / "bin/run", os.X_OK)
    assert not (root / "program.py").stat().st_mode & 0o111
    assert (root / "program.py").read_text() == (source / "program.py").read_text()


def test_runners_are_given_an_absolute_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    relative = ProgramStore("store")
    root, _ = relative.root_of(relative.publish(package()))
    assert root.is_absolute()


def test_a_program_is_unpacked_once(store):
    descriptor = store.publish(package())
    root, _ = store.root_of(descriptor)
    inode = (root / "program.py").stat().st_ino
    assert ProgramStore(store.directory).root_of(descriptor)[0] == root
    assert (root / "program.py").stat().st_ino == inode


@pytest.mark.parametrize("damage", ["truncated", "missing", "a-directory"])
def test_files_that_are_not_whole_are_unpacked_anew(store, damage):
    descriptor = store.publish(package())
    root, _ = store.root_of(descriptor)
    file = root / "program.py"
    file.write_text("")
    if damage != "truncated":
        file.unlink()
    if damage == "a-directory":
        file.mkdir()
    root, _ = ProgramStore(store.directory).root_of(descriptor)
    assert file.read_text() == "1"


def test_the_archive_of_another_program_is_damage(store):
    wanted = store.publish(package())
    other = package(program={"id": "q", "version": "1"})
    store.publish(other)
    stolen = Descriptor(wanted.program, other.digest, len(other.data))
    with pytest.raises(PackageError) as caught:
        store.root_of(stolen)
    assert caught.value.code == "program_damaged"


def test_a_version_may_be_named_like_a_leftover(store):
    changes = {"program": {"id": ".new-p", "version": ".new-1"}}
    descriptor = store.publish(package(**changes))
    store.publish(package())
    assert store.resolve(Program(".new-p", ".new-1")) == descriptor
    assert list(store.programs()) == [Program(".new-p", ".new-1"), P1]


def test_a_directory_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PackageError) as caught:
        ProgramStore(tmp_path / "file").publish(package())
    assert caught.value.code == "program_store"


def test_threads_that_publish_and_unpack_agree(store):
    barrier = threading.Barrier(8, timeout=30)

    def work(number):
        mine = ProgramStore(store.directory)
        given = package("1" if number % 2 else "2")
        barrier.wait()
        try:
            descriptor = mine.publish(given)
        except PackageError as error:
            return error.code
        root, _ = mine.root_of(descriptor)
        return descriptor, (root / "program.py").read_text()

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(8)))
    assert len(set(results)) == 2
    assert results.count("program_conflict") == 4


# Each round forks a publisher that is killed at its n-th step, until one gets through.
KILLER = """
import os, sys
from ledgence.local._engine import Program
from ledgence.local._packages import ProgramStore, read_package

STEPS = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.scandir",
         "fcntl.flock", "tempfile.mkstemp", "tempfile.mkdtemp", "shutil.rmtree"}

def kill_at(number):
    left = number
    def step(*_):
        nonlocal left
        left -= 1
        if left == 0:
            os._exit(9)
    sys.addaudithook(lambda name, _: name in STEPS and step())
    plain = os.fsync
    os.fsync = lambda descriptor: (step(), plain(descriptor))

def play(package, directory):
    store = ProgramStore(directory)
    root, _ = store.root_of(store.publish(package))
    assert (root / "program.py").read_text() == "1" * 100

def look(package, directory):
    found = ProgramStore(directory).resolve(Program("p", "1"))
    assert found is None or found.digest == package.digest, found
    if found is not None:
        ProgramStore(directory).archive_of(found)

package = read_package(open(sys.argv[1], "rb").read())
number = 0
while True:
    number += 1
    directory = f"{sys.argv[2]}/{number}"
    child = os.fork()
    if child == 0:
        kill_at(number)
        play(package, directory)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    look(package, directory)
    play(package, directory)
    leftovers = [name for base in os.walk(directory) for name in base[1] + base[2]
                 if name.startswith(".new-")]
    assert not leftovers, leftovers
    if status == 0:
        print(number)
        break
    assert status == 9, status
"""


def test_a_publisher_killed_at_any_step_leaves_a_usable_store(tmp_path):
    file = tmp_path / "p.zip"
    file.write_bytes(archive(("program.py", "1" * 100), "empty/"))
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(file), str(tmp_path / "stores")],
        capture_output=True,
        check=False,
        cwd=ROOT,
        env=environment(),
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20
