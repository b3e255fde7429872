"""What type checkers say about programs: nothing, or exactly what is marked."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GOOD = [HERE / "good_programs.py", HERE / "good_local.py"]
BAD = [HERE / "bad_programs.py", HERE / "bad_local.py"]
MARK = "# wrong"

pytestmark = pytest.mark.timeout(300)


def marked(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith(MARK)}


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    api = pytest.importorskip("mypy.api", reason="the lint group is not installed")
    cache = tmp_path_factory.mktemp("mypy")
    config = cache / "mypy.ini"
    config.write_text(f"[mypy]\nmypy_path = {ROOT}\n", encoding="utf-8")
    options = ["--strict", "--python-version", "3.11", "--namespace-packages"]
    options += [
        "--explicit-package-bases",
        "--no-error-summary",
        "--hide-error-context",
    ]
    options += ["--config-file", str(config), "--cache-dir", str(cache)]

    def run(path):
        output, errors, _ = api.run([*options, str(path)])
        assert errors == ""
        found = re.findall(r"^(.*?):(\d+): error: (.*)$", output, re.MULTILINE)
        assert {Path(name).name for name, _, _ in found} <= {path.name}, output
        return {int(line): text for _, line, text in found}

    return run


@pytest.fixture(scope="module")
def pyright():
    pytest.importorskip("pyright", reason="the lint group is not installed")
    # The strict mode and the Python are those of pyproject.toml.
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", *map(str, GOOD + BAD)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
    )
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] >= len(GOOD + BAD)

    def run(path):
        return {
            entry["range"]["start"]["line"] + 1: entry["message"]
            for entry in report["generalDiagnostics"]
            if entry["file"] == str(path) and entry["severity"] == "error"
        }

    return run


def names(path):
    return path.stem


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
@pytest.mark.parametrize("path", GOOD, ids=names)
def test_good_programs_are_accepted(checker, path, request):
    assert request.getfixturevalue(checker)(path) == {}


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
@pytest.mark.parametrize("path", BAD, ids=names)
def test_every_marked_line_is_refused_and_no_other(checker, path, request):
    found = request.getfixturevalue(checker)(path)
    assert sorted(found) == sorted(marked(path)), found


@pytest.mark.parametrize("path", GOOD, ids=names)
def test_the_good_programs_can_be_imported(path):
    # Annotations and assert_type must not need anything at run time.
    code = f"import sys; sys.path[:0] = sys.argv[1:]; import {path.stem}"
    done = subprocess.run(
        [sys.executable, "-c", code, str(HERE), str(ROOT)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
