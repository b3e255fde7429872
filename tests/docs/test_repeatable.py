"""The bad programs of the page are caught, the good ones are not."""

import pytest

from ledgence.local import HostListener, LocalHost
from ledgence.local._testing._repeat import repeat
from tests.support.local_cli import ROOT
from tests.support.samples import blocks

PAGE = ROOT / "docs" / "topics" / "repeatable.md"
PROGRAMS = {block.title: block.text for block in blocks(PAGE) if block.title}
NAMES = [name.removesuffix("_bad.py") for name in PROGRAMS if "_bad" in name]


def at_the_first_result(point):
    """Let the first attempt die with its decision."""
    return point.type == "result" and point.origin.attempt == 1


def trouble_with(directory, title):
    """Run a program; say whether it is repeatable, and how often it had its effect."""
    (directory / "program.py").write_text(PROGRAMS[title])
    effects = directory / "effects.txt"
    crash = at_the_first_result if title.startswith("effect") else None
    host = LocalHost(
        programs={"it": directory / "program.py:handle"},
        fresh_processes=True,
        listener=HostListener(),
        crash=crash,
    )
    with host as plain:
        run = plain.start_workflow("it", str(effects))
        outcome = plain.result(run, timeout=60)
        report = repeat(host)
    assert outcome.succeeded, outcome.error
    if report is not None:
        return "another step or fork"
    if crash and len(effects.read_text().splitlines()) > 1:
        return "twice"
    return None


def test_the_page_has_ten_pairs():
    assert len(NAMES) == 10
    assert set(PROGRAMS) == {f"{n}_{how}.py" for n in NAMES for how in ("bad", "good")}


@pytest.mark.parametrize("name", NAMES)
def test_a_bad_program_is_caught(tmp_path, name):
    expected = "twice" if name == "effect" else "another step or fork"
    assert trouble_with(tmp_path, f"{name}_bad.py") == expected


@pytest.mark.parametrize("name", NAMES)
def test_a_good_program_passes(tmp_path, name):
    assert trouble_with(tmp_path, f"{name}_good.py") is None
