"""The script that keeps the copies of the golden cases in step."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tool(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("tool", ROOT / ".ci/conformance.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "TARGET", tmp_path / "target")
    (tmp_path / "target").mkdir()
    source = tmp_path / "source"
    for name in module.FILES:
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(name)
    for folder in module.FOLDERS:
        (source / folder).mkdir()
        (source / folder / "case.json").write_text(folder)
    return module


def test_a_refresh_makes_the_copies_identical(tool, tmp_path, capsys):
    assert tool.main([str(tmp_path / "source"), "--refresh"]) == 0
    assert capsys.readouterr().out == "7 files are identical\n"
    assert (tmp_path / "target/profile/case.json").read_text() == "profile"


@pytest.mark.parametrize("fault", ["missing", "left over", "differs"])
def test_every_kind_of_difference_is_named(tool, tmp_path, capsys, fault):
    tool.main([str(tmp_path / "source"), "--refresh"])
    capsys.readouterr()
    victim = tmp_path / "target/workflow/case.json"
    if fault == "missing":
        victim.unlink()
    elif fault == "left over":
        victim = victim.with_name("more.json")
        victim.write_text("")
    else:
        victim.write_text("changed")
    assert tool.main([str(tmp_path / "source")]) == 1
    expected = f"{fault}: workflow/{victim.name}\n"
    assert capsys.readouterr().out == expected
    assert tool.main([str(tmp_path / "source"), "--refresh"]) == 0


def test_an_empty_source_is_a_usage_error(tool, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        tool.main([str(tmp_path)])
    assert stop.value.code == 2
    assert "holds no golden cases" in capsys.readouterr().err
