"""The house plan, checked: who may import whom, and what stays absent."""

import ast

import pytest

from tests.support.places import PACKAGE

# Other distributions have their rooms in the same namespace.
OURS = ("worker", "local")
FILES = sorted(file for name in OURS for file in (PACKAGE / name).rglob("*.py"))


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path, *, top_level_only=False):
    """Every absolute module name that a file imports, functions included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else ast.walk(tree)
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


MODULES = {module_name(path): path for path in FILES}


def within(name, package):
    return name == package or name.startswith(package + ".")


def test_the_namespace_has_no_init_file():
    assert not (PACKAGE / "__init__.py").exists()


@pytest.mark.parametrize(
    "name", [n for n in MODULES if within(n, "ledgence.worker")], ids=str
)
def test_the_worker_never_imports_its_neighbours(name):
    neighbours = ("ledgence.local", "ledgence.replay", "ledgence.client")
    found = imported(MODULES[name])
    assert [n for n in found for other in neighbours if within(n, other)] == []


@pytest.mark.parametrize(
    "name", [n for n in MODULES if within(n, "ledgence.worker")], ids=str
)
def test_the_worker_imports_only_the_standard_library_and_itself(name):
    import sys

    allowed = {*sys.stdlib_module_names, "ledgence"}
    # The bridge imports what the program ships, and only when it is enabled.
    if name == "ledgence.worker.otel":
        allowed.add("opentelemetry")
    tops = {found.partition(".")[0] for found in imported(MODULES[name])}
    assert tops - allowed == set()


def test_the_error_tree_imports_nothing_of_the_package():
    found = imported(MODULES["ledgence.worker._exceptions"])
    assert [n for n in found if within(n, "ledgence")] == []


def test_top_level_imports_form_no_circle():
    graph = {
        name: {
            found
            for found in imported(path, top_level_only=True)
            if found in MODULES and found != name
        }
        for name, path in MODULES.items()
    }
    # A package and its own parts: `from package._part import x` in __init__ is
    # the public face over private rooms, and `package` itself is loaded first.
    for name, targets in graph.items():
        graph[name] = {t for t in targets if not within(name, t)}
    done, open_names = set(), []

    def visit(name):
        if name in done:
            return
        assert name not in open_names, [*open_names, name]
        open_names.append(name)
        for target in sorted(graph[name]):
            visit(target)
        open_names.pop()
        done.add(name)

    for name in sorted(graph):
        visit(name)


def test_the_profile_is_reached_through_its_selector_only():
    twins = ("ledgence.worker._profile_py", "ledgence.worker._profile_c")
    users = [
        name
        for name, path in MODULES.items()
        if name != "ledgence.worker._profile"
        and any(twin in imported(path) for twin in twins)
        and not name.startswith("ledgence.worker._profile_py")
    ]
    assert users == []
