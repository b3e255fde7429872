"""Which names are taken, which are free, and where modules come from."""

import json
import sys

import pytest

from ledgence.worker import _stdlib
from tests.support.places import BOOTSTRAP
from tests.support.runner import invocation

ECHO = "def handle(event):\n    return event['data']\n"
LOADED = """
import sys
NAMES = sorted({name.partition(".")[0] for name in sys.modules} - {"program"})
def handle(event):
    return NAMES
"""


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_the_names_loaded_before_the_handler_stay_within_the_table(launch, protocol):
    runner = launch(LOADED, protocol, covered=False).ready()
    names = {name for name in runner.output() if not name.startswith("_")}
    allowed = _stdlib.table(protocol)
    assert names <= allowed | {"cython_runtime"}, sorted(names - allowed)


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_nothing_slow_is_loaded_before_the_handler(launch, protocol):
    runner = launch(LOADED, protocol, covered=False).ready()
    slow = {
        "re",
        "enum",
        "typing",
        "inspect",
        "dataclasses",
        "traceback",
        "asyncio",
        "logging",
        "argparse",
        "pathlib",
        "json",
        "contextlib",
        "threading",
    }
    assert not slow & set(runner.output())


TAKEN = [
    "json",
    "os",
    "io",
    "codecs",
    "sys",
    "builtins",
    "__main__",
    "argparse",
    "dataclasses",
    "typing",
    "re",
    "_heapq",
    "abc.sub",
    "json.sub",
    "ledgence",
    "ledgence.app",
    "ledgence.worker.extra",
]


@pytest.mark.parametrize("protocol", [1, 3])
@pytest.mark.parametrize("module", TAKEN)
def test_a_handler_may_not_bear_a_taken_name(launch, module, protocol):
    path = module.replace(".", "/") + ".py"
    runner = launch({path: ECHO}, protocol, f"{module}:handle")
    assert runner.finish() == ([], 70)
    assert "conflicts with a preloaded module" in runner.errors()


FREE = {
    1: [
        "asyncio",
        "logging",
        "datetime",
        "string",
        "threading",
        "socket",
        "statistics",
        "workflow",
        "worker",
        "client",
        "bootstrap",
        "otel",
        "hashlib",
        "select",
        "resource",
        "_app",
    ],
    2: ["asyncio", "socket", "select", "statistics", "resource", "hashlib"],
    3: ["statistics", "resource", "hashlib", "decimal", "queue", "workflow"],
}


@pytest.mark.parametrize(
    ("protocol", "module"), [(p, name) for p, names in FREE.items() for name in names]
)
def test_a_handler_may_bear_a_free_name(launch, protocol, module):
    runner = launch({f"{module}.py": ECHO}, protocol, f"{module}:handle", covered=False)
    assert runner.ready().output("mine", observe=True) == "mine"
    assert runner.finish() == ([], 0)


@pytest.mark.parametrize(
    ("protocol", "module"),
    [(2, "logging"), (2, "datetime"), (2, "threading"), (3, "asyncio"), (3, "select")],
)
def test_a_name_may_be_free_in_one_protocol_and_taken_in_the_next(
    launch, protocol, module
):
    runner = launch({f"{module}.py": ECHO}, protocol, f"{module}:handle")
    assert runner.finish() == ([], 70)
    assert "conflicts with a preloaded module" in runner.errors()


def test_the_artifact_precedes_the_library_for_free_names(launch):
    files = {
        "program.py": "import fractions\ndef handle(event): return fractions.WHOSE",
        "fractions.py": "WHOSE = 'artifact'",
    }
    assert launch(files).ready().output() == "artifact"


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_names_of_the_table_stay_the_librarys_however_late(launch, protocol):
    names = sorted(_stdlib.table(protocol) & sys.stdlib_module_names)
    files = {f"{name}.py": "WHOSE = 'artifact'" for name in names}
    files["program.py"] = f"""
    import importlib, sys
    def handle(event):
        if event["data"] == "fail":
            raise LookupError("on purpose")
        stolen = []
        for name in {names}:
            try:
                module = importlib.import_module(name)
            except ImportError:
                continue
            if hasattr(module, "WHOSE"):
                stolen.append(name)
        return stolen
    """
    runner = launch(files, protocol, covered=False).ready()
    assert runner.invoke("fail")["status"] == "error"
    assert "on purpose" in runner.errors()
    assert runner.output(None, 2) == []


def test_private_modules_of_the_library_stay_its_own(launch):
    files = {
        "program.py": """
        import heapq, json, random
        def handle(event):
            return [json.loads("[1]"), heapq.nsmallest(1, [2, 1]), random.WHOSE]
        """,
        "random.py": "WHOSE = 'artifact'",
    }
    files |= {f"{n}.py": "raise LookupError" for n in ("_heapq", "_json", "_bisect")}
    runner = launch(files, covered=False).ready()
    assert runner.output() == [[1], [1], "artifact"]


def test_the_helpers_late_modules_are_not_misled_by_the_artifact(launch):
    names = ("resource", "select", "hashlib", "gc", "statistics", "queue", "random")
    files = {f"{name}.py": "WHOSE = 'artifact'" for name in names}
    files["program.py"] = """
    import resource, select, queue
    from ledgence.worker import get_logger
    log = get_logger("late")
    def handle(event):
        log.info("record")
        return [resource.WHOSE, select.WHOSE, queue.WHOSE, len(event["data"])]
    """
    runner = launch(files, 2, covered=False).ready()
    result = runner.invoke("x" * 100_000, observe=True)
    assert result["output"] == ["artifact"] * 3 + [100_000]
    assert result["observations"]["process_cpu_user_us"] is not None
    assert runner.await_logs(1)[0]["message"] == "record"


def test_the_helper_takes_no_free_name_for_itself(launch):
    program = """
    import sys
    from ledgence.worker import get_logger
    log = get_logger("late")
    def handle(event):
        log.info("record")
        return [name in sys.modules for name in ("select", "resource")]
    """
    runner = launch(program, 2, covered=False).ready()
    assert runner.output(None, 1, observe=True) == [False, False]
    assert runner.output("x" * 100_000, 2, observe=True) == [False, False]


@pytest.mark.parametrize(
    "files",
    [
        {"logging.py": "WHOSE = 'artifact'"},
        {"logging/__init__.py": "WHOSE = 'artifact'"},
        {"string.py": "WHOSE = 'artifact'"},
    ],
    ids=lambda files: next(iter(files)),
)
@pytest.mark.parametrize("when", ["import string", "pass"])
def test_protocol_1_logs_into_nothing_beside_a_program_with_its_own_logging(
    launch, files, when
):
    program = f"""
from ledgence.worker import get_logger
{when}
log = get_logger("a")
def handle(event):
    log.info("x", extra={{"attributes": {{}}}})
    log.exception("y")
    return 1
"""
    runner = launch(files | {"program.py": program}, covered=False).ready()
    assert runner.output() == 1
    assert runner.finish() == ([], 0)
    assert runner.errors() == ""


def test_a_program_may_look_at_its_silent_logger(launch):
    files = {
        "logging.py": "",
        "program.py": """
        from ledgence.worker import get_logger
        log = get_logger("a")
        def handle(event):
            return [log.name, hasattr(log, "__len__"), log.info("x")]
        """,
    }
    assert launch(files).ready().output() == ["a", False, None]


NAMESPACE = """
import ledgence, ledgence.worker, sys
from ledgence.client import NAME
from ledgence.worker import current_invocation
def handle(event):
    return [NAME, ledgence.__spec__.origin, getattr(ledgence, "__file__", None),
            ledgence.worker.__file__.startswith(sys.path[1]),
            current_invocation().event_id]
"""


def test_the_namespace_is_shared_with_a_client_in_the_artifact(launch):
    files = {
        "program.py": NAMESPACE,
        "ledgence/client/__init__.py": "NAME = 'stub client'",
        "ledgence/worker/__init__.py": "raise LookupError('vendored')",
        "ledgence/worker/_stdlib.py": "raise LookupError('vendored')",
    }
    runner = launch(files).ready()
    assert runner.output() == ["stub client", None, None, True, "evt-1"]


def test_an_artifact_cannot_take_the_namespace_over(launch):
    files = {
        "program.py": """
        import ledgence.worker
        try:
            import ledgence.client
            FOUND = True
        except ImportError:
            FOUND = False
        def handle(event):
            return FOUND
        """,
        "ledgence/__init__.py": "raise LookupError('taken over')",
        "ledgence/client.py": "",
    }
    assert launch(files).ready().output() is False


def test_the_released_client_works_from_the_artifact(launch, artifact):
    from pathlib import Path

    import ledgence.client

    runner = launch(
        {
            "program.py": """
            import ledgence.client, ledgence.worker
            def handle(event):
                return [ledgence.client.__name__, ledgence.worker.__name__]
            """
        }
    )
    runner.kill()
    root = Path(ledgence.client.__file__).resolve().parent
    (artifact({}) / "ledgence").mkdir()
    (artifact({}) / "ledgence" / "client").symlink_to(root)
    # Its own dependencies come from where the client was installed.
    site = json.dumps(str(root.parents[1]))
    program = f"""
import sys
sys.path.append({site})
import ledgence.client, ledgence.worker
def handle(event):
    return [ledgence.client.__name__, ledgence.worker.__name__]
"""
    again = launch({"program.py": program}).ready()
    assert again.output() == ["ledgence.client", "ledgence.worker"]


def test_the_bootstrap_can_be_imported_for_its_numbers(launch):
    program = """
    import sys
    from ledgence.worker import bootstrap
    def handle(event):
        return [bootstrap.DEFAULT_RUNTIME_FRAME_MAX_BYTES,
                bootstrap.MAX_WIRE_VALUE_DEPTH, sys.modules["__main__"] is bootstrap]
    """
    assert launch(program).ready().output() == [2_097_152, 64, False]


def test_the_path_is_artifact_helper_and_library(launch):
    program = """
    import os, sys
    PATH = list(sys.path)
    def handle(event):
        return [PATH, os.path.dirname(__file__), os.getcwd()]
    """
    path, root, work = launch(program, covered=False).ready().output()
    assert path[0] == root
    assert path[1] == str(BOOTSTRAP).rpartition("/ledgence/")[0]
    assert len(path) > 2
    assert work not in path
    assert not any("site-packages" in entry for entry in path)


HANDLERS = {
    "a function": "def handle(event): return 1",
    "a lambda": "handle = lambda event: 1",
    "a builtin": "handle = len",
    "a class": "class handle(dict):\n    def __init__(self, event): pass",
    "a bound method": "class A:\n    def m(self, event): return 1\nhandle = A().m",
    "a static method": (
        "class A:\n    @staticmethod\n    def m(e): return 1\nhandle = A.m"
    ),
    "a partial": "import functools\nhandle = functools.partial(int, base=10)",
    "an instance": "class A:\n    def __call__(self, event): return 1\nhandle = A()",
    "an instance with an async call": (
        "class A:\n    async def __call__(self, event): return 1\nhandle = A()"
    ),
    "a module's __getattr__": "def __getattr__(name): return lambda event: 1",
}


@pytest.mark.parametrize("protocol", [1, 2, 3])
@pytest.mark.parametrize("program", HANDLERS.values(), ids=HANDLERS)
def test_any_synchronous_callable_is_a_handler(launch, program, protocol):
    assert launch(program, protocol).ready().finish() == ([], 0)


LEAVES = """
__path__.append("/tmp")
__spec__.submodule_search_locations = __path__
"""
REPLACED = "import sys\nsys.modules[__name__] = type('M', (), {'handle': print})()"
REFUSED = {
    "absent": ({"program.py": "other = 1"}, "program:handle", "absent or not callable"),
    "not callable": ({"program.py": "handle = 1"}, "program:handle", "not callable"),
    "no module": ({}, "program:handle", "not found in the artifact"),
    "only in the library": ({}, "fractions:Fraction", "not found in the artifact"),
    "a builtin of the library": ({"gc.py": ECHO}, "gc:handle", "not the artifact's"),
    "parent is no package": (
        {"a.py": ECHO, "b.py": ECHO},
        "a.b:handle",
        "not a package",
    ),
    "no such part": ({"a/__init__.py": ""}, "a.b:handle", "not found in the artifact"),
    "replaced itself": (
        {"a.py": "import sys, fractions\nsys.modules[__name__] = fractions"},
        "a:Fraction",
        "not the artifact's",
    ),
    "replaced by an object": (
        {"a.py": REPLACED},
        "a:handle",
        "no place in the artifact",
    ),
    "no spec": ({"a.py": "__spec__ = None\n" + ECHO}, "a:handle", "no place"),
    "origin that is no text": (
        {"a.py": "__spec__.origin = 5\n" + ECHO},
        "a:handle",
        "not the artifact's",
    ),
    "path leaves": (
        {"a/__init__.py": LEAVES},
        "a.b:handle",
        "not the artifact's",
    ),
}


@pytest.mark.parametrize(("files", "handler", "reason"), REFUSED.values(), ids=REFUSED)
def test_whatever_is_not_the_artifacts_is_refused(launch, files, handler, reason):
    runner = launch(files, 1, handler)
    assert runner.finish() == ([], 70)
    assert reason in runner.errors()


ACCEPTED = {
    "a package itself": ({"a/__init__.py": ECHO}, "a:handle"),
    "a part of a package": ({"a/__init__.py": "", "a/b.py": ECHO}, "a.b:handle"),
    "a namespace package": ({"a/b/c.py": ECHO}, "a.b.c:handle"),
    "a parent that imports it": (
        {"a/__init__.py": "from . import b", "a/b.py": ECHO},
        "a.b:handle",
    ),
    "beyond ASCII": ({"größe.py": ECHO.replace("handle", "führe")}, "größe:führe"),
}


@pytest.mark.parametrize(("files", "handler"), ACCEPTED.values(), ids=ACCEPTED)
def test_modules_and_packages_of_the_artifact_are_accepted(launch, files, handler):
    assert launch(files, 1, handler).ready().output(3) == 3


def test_symlinks_inside_are_fine_and_outside_are_refused(launch, artifact, tmp_path):
    folder = artifact({"real/app.py": ECHO})
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "far.py").write_text("import os; os.write(2, b'ran')")
    (folder / "near.py").symlink_to("real/app.py")
    (folder / "far.py").symlink_to(tmp_path / "outside" / "far.py")
    (folder / "folder").symlink_to(tmp_path / "outside")
    assert launch({}, 1, "near:handle").ready().output(1) == 1
    for handler in ("far:handle", "folder.far:handle"):
        runner = launch({}, 1, handler)
        assert runner.finish() == ([], 70)
        assert "outside" in runner.errors()
        assert "ran" not in runner.errors()


def test_a_relative_root_is_resolved_against_the_working_directory(tmp_path, artifact):
    from tests.support.runner import Runner

    folder = artifact(ECHO)
    runner = Runner(
        "../../artifact", scratch=tmp_path / "scratch", handler="program:handle"
    )
    try:
        runner.send(invocation(1, 4))
        assert runner.ready().control()["output"] == 4
        assert folder.is_dir()
    finally:
        runner.kill()


def test_no_bytecode_is_written_anywhere(launch, artifact):
    files = {"program.py": "import a.b\n" + ECHO, "a/b.py": ""}
    launch(files).ready().shut_down()
    assert not list(artifact({}).rglob("__pycache__"))
