"""The benchmark of the local host can be run; its figures are not judged here."""

import json

from bench import figures, local_host

SMALL = ["--runs=2", "--steps=2", "--resumes=2", "--trees=2", "--children=2"]
SMALL += ["--timers=3", "--rounds=3", "--slots=1"]


def test_all_measurements_can_be_made(tmp_path, capsys):
    options = [*SMALL, f"--directory={tmp_path}", "--json", "--file"]
    assert local_host.main(options) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"start", "steps", "resumes", "trees", "timers", "growth"}
    for rows in found.values():
        assert all(value >= 0 for value in rows.values())
    assert found["trees"]["children_each"] == 2
    assert found["growth"]["activations"] == 3


def test_figures_are_printed_for_people(capsys):
    figures.show({"steps": {"workflows": 1000, "us": 1.5}}, as_json=False)
    assert capsys.readouterr().out.split() == [
        "steps",
        "workflows",
        "1,000",
        "us",
        "1.50",
    ]
