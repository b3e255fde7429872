"""Which twin runs, and what importing it brings along."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import ledgence.worker
from ledgence.worker import _exceptions, _profile, _profile_py
from tests.support.twins import NATIVE

PARENT = Path(ledgence.worker.__file__).resolve().parents[2]
NAMES = {
    *("encode", "check", "freeze", "thaw", "fingerprint", "check_wire"),
    *("encode_frame", "fit_error", "loads", "ProfileError"),
}


@pytest.fixture
def select(monkeypatch):
    """Import the selector anew, with a compiled twin of our making or none."""

    def selected(twin, forced="", implementation="cpython"):
        name = "ledgence.worker._profile_c"
        monkeypatch.setitem(sys.modules, name, twin)
        monkeypatch.delattr(ledgence.worker, "_profile_c", raising=False)
        if twin is not None:
            monkeypatch.setattr(ledgence.worker, "_profile_c", twin, raising=False)
        monkeypatch.setenv("LEDGENCE_PURE_PYTHON", forced)
        here = SimpleNamespace(name=implementation)
        monkeypatch.setattr(sys, "implementation", here)
        module = ModuleType("selector")
        source = Path(_profile.__file__).read_text(encoding="utf-8")
        exec(compile(source, _profile.__file__, "exec"), module.__dict__)
        return module

    return selected


def compiled(build=_profile.BUILD):
    """A stand-in for the compiled twin."""
    twin = ModuleType("ledgence.worker._profile_c")
    for name in NAMES:
        setattr(twin, name, object())
    if build is not None:
        twin.BUILD = build
    return twin


@pytest.mark.parametrize("forced", ["", "0"])
def test_a_compiled_twin_of_these_sources_is_used(select, forced):
    twin = compiled()
    module = select(twin, forced)
    assert module.IMPLEMENTATION == "native"
    assert module.encode is twin.encode
    assert module.loads is twin.loads


@pytest.mark.parametrize("forced", ["1", "yes", "00", " ", "false"])
def test_the_environment_forces_the_pure_twin(select, forced):
    module = select(compiled(), forced)
    assert module.IMPLEMENTATION == "pure"
    assert module.encode is _profile_py.encode


@pytest.mark.parametrize("build", [None, 0, _profile.BUILD + 1])
def test_a_stale_binary_is_passed_over(select, build):
    assert select(compiled(build)).IMPLEMENTATION == "pure"


def test_a_missing_binary_is_passed_over(select):
    module = select(None)
    assert module.IMPLEMENTATION == "pure"
    assert {getattr(module, name) for name in NAMES} == {
        getattr(_profile_py, name) for name in NAMES
    }


def test_another_interpreter_has_the_pure_twin(select):
    assert select(compiled(), implementation="pypy").IMPLEMENTATION == "pure"


def test_an_error_of_the_binary_is_not_hidden(select, monkeypatch):
    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name == "ledgence.worker._profile_c":
                raise RuntimeError("broken")

    select(compiled())
    monkeypatch.delitem(sys.modules, "ledgence.worker._profile_c")
    monkeypatch.delattr(ledgence.worker, "_profile_c")
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    module = ModuleType("selector")
    source = Path(_profile.__file__).read_text(encoding="utf-8")
    with pytest.raises(RuntimeError, match="broken"):
        exec(compile(source, _profile.__file__, "exec"), module.__dict__)


def test_this_run_uses_what_the_environment_says():
    forced = os.environ.get("LEDGENCE_PURE_PYTHON", "") not in ("", "0")
    want = "pure" if forced or NATIVE is None else "native"
    assert want == _profile.IMPLEMENTATION


def test_each_twin_offers_the_nine_functions_by_itself(profile):
    for name in NAMES:
        assert callable(getattr(profile, name))
    assert profile.ProfileError is _exceptions.ProfileError


@pytest.mark.parametrize("name", sorted(NAMES - {"ProfileError"}))
def test_the_twins_have_the_same_signatures(native, name):
    def shape(function):
        parameters = inspect.signature(function).parameters.values()
        return [(p.name, p.kind, p.default) for p in parameters]

    assert shape(getattr(native, name)) == shape(getattr(_profile_py, name))


def isolated(code, *flags, **environment):
    """The JSON that a program prints in a process like a runner's."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", *flags, "-c", code, str(PARENT)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, **environment},
    )
    return json.loads(done.stdout)


LOADED = """
import sys
sys.path.insert(0, sys.argv[1])
import ledgence.worker
before = set(sys.modules)
import ledgence.worker._profile_py as p
p.loads(p.encode_frame(p.fit_error({"v": 1}, "k", "m" * 600, 99), 99))
p.thaw(p.encode(p.freeze({"b": [1.5], "a": ()}, 99), 99))
p.fingerprint({}, 9)
for call in (lambda: p.encode([object()], 9), lambda: p.loads(b"[NaN]")):
    try:
        call()
    except p.ProfileError as error:
        str(error)
found = sorted({name.partition(".")[0] for name in set(sys.modules) - before})
print(str(found).replace("'", '"'))
"""


def test_the_pure_twin_takes_no_public_name_from_programs():
    found = isolated(LOADED)
    assert [name for name in found if not name.startswith("_")] in (
        *([], ["ledgence"], ["itertools"], ["itertools", "ledgence"]),
    )


CHOSEN = """
import sys
sys.path.insert(0, sys.argv[1])
from ledgence.worker._profile import IMPLEMENTATION
print('"' + IMPLEMENTATION + '"')
"""


def test_the_environment_counts_in_isolated_mode_too():
    assert isolated(CHOSEN, LEDGENCE_PURE_PYTHON="1") == "pure"
    want = "pure" if NATIVE is None else "native"
    assert isolated(CHOSEN, LEDGENCE_PURE_PYTHON="0") == want
