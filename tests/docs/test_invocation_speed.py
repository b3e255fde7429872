"""The page that says how fast an invocation is: its rows and how runs get into it."""

import json
import xml.etree.ElementTree as ET

import pytest

from bench.e2e import page
from bench.e2e.targets import CPU, ROWS
from bench.e2e.workloads import workloads


def run(native, a_title, ratios, b_cpu=50.0):
    """What ``python -m bench.e2e --json`` writes, as far as the page reads it."""
    found = "yes" if native else "no"
    return {
        "sides": {
            "A": {"title": a_title, "python": "3.11.9"},
            "B": {
                "title": f"somewhere (compiled bytecode: yes; native module: {found})",
                "python": "3.11.9",
            },
        },
        "workloads": {
            name: {"ratio": {CPU: value}, "B": {CPU: b_cpu}}
            for name, value in ratios.items()
        },
    }


@pytest.fixture
def written(tmp_path):
    """Write runs to files, put them into a page; return its lines and its picture."""

    def write(*runs):
        paths = []
        for number, each in enumerate(runs):
            path = tmp_path / f"{number}.json"
            path.write_text(json.dumps(each), encoding="utf-8")
            paths.append(str(path))
        target = tmp_path / "speed.md"
        target.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n", "utf-8")
        assert page.main([str(target), *paths]) == 0
        return target.read_text("utf-8").splitlines(), target.with_suffix(".svg")

    return write


def test_each_row_is_a_workload_and_no_steady_one_is_left_out():
    names = {each.name for each in workloads()}
    shown = [row.workload for row in ROWS]
    assert len(set(shown)) == len(shown)
    assert set(shown) == names


def test_runs_become_a_table_between_the_marks_and_a_picture(written):
    lines, picture = written(
        run(True, "old", {"wf-complete": 0.12, "logs-p2-10": 0.31}),
        run(False, "old", {"wf-complete": 0.2}),
        run(True, "floor (orjson)", {"wf-complete": 1.5}),
    )
    assert (lines[0], lines[-1]) == ("before", "after")
    assert "old" not in lines
    (complete,) = [line for line in lines if "workflow complete" in line]
    assert complete == (
        "| workflow complete | 50 µs | 0.12 | 0.12 | 0.20 | 0.25 | 1.50 |"
    )
    (logs,) = [line for line in lines if "ten log records" in line]
    assert logs == "| ten log records | 50 µs | **0.31** | 0.3 |  | 0.5 |  |"
    texts = [each.text for each in ET.parse(picture).getroot().iter() if each.text]
    assert "workflow complete" in texts


def test_several_runs_of_one_kind_count_as_their_median(written):
    lines, _ = written(
        *(run(True, "old", {"wf-local-1": value}) for value in (0.05, 0.07, 0.061))
    )
    (row,) = [line for line in lines if "| 1 local commit |" in line]
    assert "| **0.061** | 0.06 |" in row


def test_the_page_names_no_path(written):
    lines, picture = written(run(True, "/somewhere/else", {"wf-complete": 0.1}))
    assert "somewhere" not in "\n".join(lines) + picture.read_text("utf-8")
