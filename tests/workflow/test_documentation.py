"""The reference page says everything and nothing else."""

import re
from pathlib import Path

import pytest

from ledgence.worker import workflow
from ledgence.worker.workflow import _extras

PAGE = (
    Path(__file__).resolve().parents[2] / "docs" / "reference" / "workflow.md"
).read_text(encoding="utf-8")
METHODS = [
    "local",
    "operation",
    "approved_local",
    "gather",
    "task",
    "workflow",
    "branch",
    "fork",
    "join",
    "get_result",
    "suspend",
    "continue_",
    "wait_event",
    "sleep",
    "request_approval",
    "wait_approval",
    "complete",
    "fail",
    "sizes",
]
PROPERTIES = [
    "workflow_id",
    "activation_id",
    "revision",
    "continuation",
    "entrypoint",
    "parent_workflow_id",
    "root_workflow_id",
    "state",
    "inputs",
    "wake",
    "approval",
    "closed",
]


@pytest.mark.parametrize("name", [*workflow.__all__, *sorted(_extras._SHAPES)])
def test_every_public_name_is_on_the_page(name):
    if name != "WorkflowError":
        assert re.search(rf"\b{name}\b", PAGE)


@pytest.mark.parametrize("name", [*METHODS, *PROPERTIES])
def test_every_member_of_the_context_is_on_the_page(name):
    assert hasattr(workflow.WorkflowContext, name)
    assert re.search(rf"\b{name}\b", PAGE)


def test_the_context_has_no_other_public_member():
    found = {n for n in dir(workflow.WorkflowContext) if not n.startswith("_")}
    assert found == {*METHODS, *PROPERTIES}


@pytest.mark.parametrize("name", [n for n in workflow.__all__ if n.startswith("MAX_")])
def test_the_limits_of_the_page_are_those_of_the_code(name):
    rows = [line for line in PAGE.splitlines() if f"`{name}`" in line]
    assert rows
    for row in rows:
        assert str(getattr(workflow, name)) in row.split("|")[3]


@pytest.mark.parametrize("name", METHODS + PROPERTIES)
def test_every_member_has_a_docstring(name):
    assert getattr(workflow.WorkflowContext, name).__doc__


@pytest.mark.parametrize("name", re.findall(r"^::: (\S+)$", PAGE, re.MULTILINE))
def test_what_the_page_shows_exists(name):
    found = workflow
    for part in name.removeprefix("ledgence.worker.workflow.").split("."):
        found = getattr(found, part)
    assert found.__doc__
