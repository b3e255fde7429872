"""The SQLite store: opening, versions, sharing, durability settings."""

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ledgence.local._engine import NotFound, Unavailable
from ledgence.local._engine._rows import Payload
from ledgence.local._store import HostLock, SqliteStore, StoreError
from ledgence.local._store._schema import MIGRATIONS
from tests.support.local_world import SCOPE, World

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


def pragma(store, name):
    return store._db.execute(f"PRAGMA {name}").fetchone()[0]


def test_a_file_is_in_wal_mode_and_fully_synchronous(path):
    with SqliteStore(path) as store:
        assert pragma(store, "journal_mode") == "wal"
        assert pragma(store, "synchronous") == 2
        assert pragma(store, "user_version") == len(MIGRATIONS)


def test_what_was_acknowledged_is_there_after_reopening(path):
    with SqliteStore(path) as store:
        task_id = World(store).submit(data={"a": -0.0})
    with SqliteStore(path) as store:
        world = World(store)
        request = {"scope": SCOPE, "task_id": task_id}
        data = world.look.task_snapshot(request)["input"]["data"]
        assert str(data["a"]) == "-0.0"


def test_memory_stores_are_separate():
    one, two = World(SqliteStore()), World(SqliteStore())
    task_id = one.submit()
    with pytest.raises(NotFound):
        two.task(task_id)


def add_and_raise(rows, name):
    rows.add(Payload(name, b"1"))
    raise ZeroDivisionError


def nested(rows):
    with rows.savepoint():
        with rows.savepoint():
            rows.add(Payload("inner", b"1"))
        add_and_raise(rows, "undone")


def test_a_record_that_must_be_there_and_is_not_means_damage():
    with SqliteStore() as store, store.reading() as rows:
        with pytest.raises(LookupError, match="damaged"):
            rows.need(Payload, "a")
        with pytest.raises(LookupError, match="damaged"):
            rows.need(Payload, None)


def test_a_transaction_that_sqlite_has_rolled_back_itself_is_over(path):
    with SqliteStore(path) as store:
        with pytest.raises(ZeroDivisionError), store.writing() as rows:
            roll_back_and_raise(rows)
        World(store).submit()


def roll_back_and_raise(rows):
    rows._db.execute("ROLLBACK")
    raise ZeroDivisionError


def test_a_transaction_that_raises_leaves_no_trace(path):
    with SqliteStore(path) as store:
        with pytest.raises(ZeroDivisionError), store.writing() as rows:
            add_and_raise(rows, "a")
        with store.reading() as rows:
            assert rows.get(Payload, "a") is None


def test_a_savepoint_undoes_only_its_block():
    with SqliteStore() as store, store.writing() as rows:
        rows.add(Payload("kept", b"1"))
        with pytest.raises(ZeroDivisionError):
            nested(rows)
        assert rows.get(Payload, "kept") is not None
        assert rows.get(Payload, "undone") is None
        assert rows.get(Payload, "inner") is None


def test_a_record_changes_only_in_the_named_fields():
    with SqliteStore() as store, store.writing() as rows:
        row = Payload("a", b"1")
        rows.add(row)
        changed = rows.change(row, output=b"2")
        assert changed == Payload("a", b"1", b"2") == rows.get(Payload, "a")
        rows.remove(changed)
        assert rows.get(Payload, "a") is None


def test_every_record_class_fits_its_table():
    from ledgence.local._engine import _rows

    kinds = [
        kind
        for kind in vars(_rows).values()
        if isinstance(kind, type) and issubclass(kind, _rows.Row)
    ]
    with SqliteStore() as store:
        for kind in kinds:
            if kind is _rows.Row:
                continue
            columns = store._db.execute(f"PRAGMA table_info({kind.TABLE})").fetchall()
            assert [name for _, name, *_ in columns] == list(kind.__slots__)
            keys = {name for _, name, _, _, _, key in columns if key}
            assert keys == set(kind.KEY)


def test_a_store_of_an_older_version_is_brought_forward(path):
    first = [*MIGRATIONS]
    with SqliteStore(path, migrations=first) as store:
        task_id = World(store).submit()
    second = [*first, ["ALTER TABLE tasks ADD COLUMN note TEXT"]]
    third = [*second, ["UPDATE tasks SET note = 'moved'"]]
    with SqliteStore(path, migrations=third) as store:
        assert pragma(store, "user_version") == len(third)
        notes = store._db.execute("SELECT task_id, note FROM tasks").fetchall()
        assert notes == [(task_id, "moved")]


def test_a_migration_that_fails_changes_nothing(path):
    with SqliteStore(path):
        pass
    broken = [*MIGRATIONS, ["CREATE TABLE extra (a)", "this is no statement"]]
    with pytest.raises(StoreError) as caught:
        SqliteStore(path, migrations=broken)
    assert caught.value.code == "store_unusable"
    with SqliteStore(path) as store:
        assert pragma(store, "user_version") == len(MIGRATIONS)
        tables = store._db.execute("SELECT name FROM sqlite_master").fetchall()
        assert ("extra",) not in tables


def test_a_store_of_a_newer_version_is_refused_and_left_alone(path):
    newer = [*MIGRATIONS, ["CREATE TABLE extra (a)"]]
    with SqliteStore(path, migrations=newer):
        pass
    with pytest.raises(StoreError) as caught:
        SqliteStore(path)
    assert caught.value.code == "store_newer"
    with SqliteStore(path, migrations=newer) as store:
        assert pragma(store, "user_version") == len(newer)


def test_a_database_of_another_kind_is_refused_and_left_alone(path):
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE mine (a)")
    other.commit()
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        SqliteStore(path)
    assert caught.value.code == "store_foreign"
    other.close()
    assert path.read_bytes() == before


@pytest.mark.parametrize("make", ["garbage", "folder", "nowhere"])
def test_what_cannot_be_opened_is_refused(path, make):
    if make == "garbage":
        path.write_bytes(b"no database" * 100)
    elif make == "folder":
        path.mkdir()
    else:
        path = path / "nowhere" / "store"
    with pytest.raises(StoreError) as caught:
        SqliteStore(path)
    assert caught.value.code == "store_unusable"
    assert caught.value.details["path"] == str(path)


@pytest.mark.parametrize(
    "take_away",
    [
        pytest.param(Path.unlink, id="removed"),
        pytest.param(lambda path: path.rename(path.with_name("other")), id="moved"),
        pytest.param(lambda path: path.with_name("n").rename(path), id="replaced"),
    ],
)
def test_nothing_is_acknowledged_once_the_file_was_taken_away(path, take_away):
    with SqliteStore(path) as store:
        world = World(store)
        world.submit()
        path.with_name("n").touch()
        take_away(path)
        with pytest.raises(Unavailable):
            world.submit()


def test_two_openers_share_one_file(path):
    with SqliteStore(path) as one, SqliteStore(path) as two:
        host, other = World(one), World(two, prefix="other-")
        host.program("flow", lambda job: job.wait_event("k", "end"))
        workflow_id = host.start("flow")
        host.run()
        assert other.workflow(workflow_id)["state"] == "waiting"
        other.send(workflow_id, "k")
        assert host.workflow(workflow_id)["state"] == "running"


def test_a_writer_waits_for_another_and_then_gives_up(path):
    with SqliteStore(path) as one, SqliteStore(path, busy_ms=50) as two:
        with one.writing():
            with pytest.raises(Unavailable) as caught, two.writing():
                pass
            with two.reading() as rows:
                assert rows.clock_floor() == 0
        assert caught.value.status == 503
        World(two).submit()


def reader_of_a_rollback_journal(path):
    """Return a connection whose open read keeps a file from becoming WAL."""
    SqliteStore(path).close()
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("PRAGMA journal_mode = DELETE")
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM meta").fetchall()
    return reader


def test_opening_waits_for_a_reader_that_hinders_the_switch_to_wal(path, monkeypatch):
    from ledgence.local._store import _sqlite

    reader = reader_of_a_rollback_journal(path)
    monkeypatch.setattr(_sqlite.time, "monotonic", lambda: 0)
    monkeypatch.setattr(_sqlite.time, "sleep", lambda _: reader.execute("COMMIT"))
    with SqliteStore(path, busy_ms=20) as store:
        assert pragma(store, "journal_mode") == "wal"
    reader.close()


def test_opening_gives_up_after_its_time(path):
    reader = reader_of_a_rollback_journal(path)
    with pytest.raises(StoreError) as caught:
        SqliteStore(path, busy_ms=20)
    assert caught.value.code == "store_unusable"
    reader.close()


def test_one_store_serves_many_threads(path):
    with SqliteStore(path) as store:
        world = World(store)
        requests = [
            [world.request(key=f"{thread}-{n}") for n in range(20)]
            for thread in range(4)
        ]
        done = []

        def work(mine):
            done.extend(world.engine.submit_task(request) for request in mine)

        threads = [threading.Thread(target=work, args=(mine,)) for mine in requests]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len({task["task_id"] for task in done}) == 80
        assert len(world.look.list_tasks({"scope": SCOPE, "limit": 100})["items"]) == 80


@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_another_opener_may_come_between_the_looks_at_a_new_file(
    path, monkeypatch, first
):
    plain, left = SqliteStore._pragma, [1]

    def pragma(store, name):
        if name == "application_id" and left.pop() if left else False:
            if first:
                SqliteStore(path).close()
                return plain(store, name)
            value = plain(store, name)
            SqliteStore(path).close()
            return value
        return plain(store, name)

    monkeypatch.setattr(SqliteStore, "_pragma", pragma)
    with SqliteStore(path) as store:
        World(store).submit()


def test_many_processes_open_a_new_file_at_once(path):
    code = (
        "import sys; from ledgence.local._store import SqliteStore;"
        "sys.stdin.read(); SqliteStore(sys.argv[1]).close()"
    )
    command = [sys.executable, "-c", code, str(path)]
    children = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE) for _ in range(4)
    ]
    for child in children:
        child.stdin.close()
    assert [child.wait(60) for child in children] == [0, 0, 0, 0]
    with SqliteStore(path) as store:
        assert pragma(store, "user_version") == len(MIGRATIONS)


def test_one_host_at_a_time_runs_programs(path):
    with HostLock(path, "host_1") as lock:
        with pytest.raises(StoreError) as caught:
            HostLock(path, "host_2")
        assert caught.value.code == "store_in_use"
        assert caught.value.details["host_id"] == "host_1"
        assert caught.value.details["pid"] == os.getpid()
        lock.release()
        lock.release()
        with HostLock(path, "host_2"):
            pass


def test_a_lock_holder_that_has_not_written_yet_is_no_error(path):
    lock_file = path.with_name(path.name + "-host")
    with HostLock(path, "host_1"):
        lock_file.write_text("")
        with pytest.raises(StoreError) as caught:
            HostLock(path, "host_2")
    assert set(caught.value.details) == {"path"}


def test_a_lock_that_cannot_be_written_is_given_back(path, monkeypatch):
    from ledgence.local._store import _hostlock

    with monkeypatch.context() as patch:
        patch.setattr(_hostlock.os, "getpid", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            HostLock(path, "host_1")
    HostLock(path, "host_1").release()


def test_a_store_in_memory_needs_no_lock():
    with HostLock(None, "host_1") as lock:
        assert lock.path is None


def test_the_lock_ends_with_its_process(path):
    code = (
        "import sys; from pathlib import Path;"
        "from ledgence.local._store import HostLock;"
        "lock = HostLock(Path(sys.argv[1]), 'host_1');"
        "print('locked', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout.readline() == b"locked\n"
        with pytest.raises(StoreError):
            HostLock(path, "host_2")
        child.kill()
        child.wait(60)
        with HostLock(path, "host_2"):
            pass


def test_asking_whether_a_store_is_free_does_not_take_it(tmp_path):
    path = tmp_path / "s.db"
    assert HostLock.is_free(path)
    with HostLock(path, "host_1"):
        assert not HostLock.is_free(path)
    assert HostLock.is_free(path)
    with HostLock(path, "host_2"):
        assert not HostLock.is_free(path)
