"""Every code sample of the documentation does what the page says."""

import pytest

from tests.support.local_cli import ROOT
from tests.support.samples import blocks, run_page

# Pages whose samples begin in an empty directory.
APART = [
    ROOT / "docs" / name
    for name in (
        "tutorial.md",
        "reference/cli.md",
        "topics/testing.md",
        "topics/debugging.md",
        "topics/changing-code.md",
        "reference/local.md",
    )
]
# Pages whose commands are given from the root of the checkout.
INSIDE = sorted((ROOT / "examples").glob("*/README.md"))


def names(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", APART, ids=names)
def test_a_page_of_the_documentation_works_word_for_word(page, tmp_path):
    assert run_page(page, tmp_path) > 0


@pytest.mark.parametrize("page", INSIDE, ids=names)
def test_an_examples_readme_works_word_for_word(page):
    assert run_page(page, ROOT) > 0


def test_the_readme_shows_what_the_example_prints():
    assert run_page(ROOT / "README.md", ROOT, sessions=False) > 0


PAGE = """\
# Page

```python title="greet.py"
print("hello")
```

```console
$ cat greet.py
print("{said}")
$ printf 'a\\n' \\
> 'b\\n' ; echo 12345678-1234-1234-1234-123456789abc
a
87654321-4321-4321-4321-cba987654321
```
"""


@pytest.mark.parametrize("said", ["hello", "goodbye"])
def test_a_page_that_says_something_else_fails(tmp_path, said):
    page = tmp_path / "page.md"
    page.write_text(PAGE.replace("{said}", said))
    if said == "hello":
        assert run_page(page, tmp_path) == 1
    else:
        with pytest.raises(AssertionError, match="goodbye"):
            run_page(page, tmp_path)


def test_output_that_the_page_does_not_show_fails_unless_it_is_elided(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo a; echo b\na\n```\n")
    with pytest.raises(AssertionError, match="b"):
        run_page(page, tmp_path)
    page.write_text("```console\n$ echo a; echo b\na\n...\n```\n")
    assert run_page(page, tmp_path) == 1


def python_blocks(page):
    return [b.text for b in blocks(page) if b.language == "python" and not b.title]


def test_the_first_program_of_the_readme_works():
    (source,) = python_blocks(ROOT / "README.md")
    names = {"__name__": "readme"}
    exec(source, names)
    output = names["handle"]({"data": {"id": "INV-1", "lines": [2, 3]}})
    assert output == {"id": "INV-1", "total": 5}


def test_the_first_test_of_the_readme_works(tmp_path, monkeypatch):
    (program,) = python_blocks(ROOT / "README.md")
    (test,) = [b for b in blocks(ROOT / "README.md") if b.title == "test_invoices.py"]
    (tmp_path / "program.py").write_text(program)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(test.text, names)
    names["test_an_invoice"]()


def test_the_sample_of_the_json_profile_holds():
    (source,) = python_blocks(ROOT / "docs" / "topics" / "json-profile.md")
    exec(source, {})
