import pytest

from ledgence.local._tracebacks import TracebackTrimmer

RAISED = """\
Traceback (most recent call last):
  File "/lib/worker/_runner/invoke.py", line 40, in call
    output = handler(event)
             ^^^^^^^^^^^^^^
  File "/home/me/program.py", line 3, in handle
    raise ValueError("no")
ValueError: no
"""
IMPORTED = """\
Traceback (most recent call last):
  File "/lib/worker/bootstrap.py", line 9, in <module>
    main()
  File "<frozen importlib._bootstrap>", line 1204, in _gcd_import
  File "/home/me/program.py", line 1, in <module>
    import missing
ModuleNotFoundError: No module named 'missing'
"""
CHAINED = """\
Traceback (most recent call last):
  File "/lib/worker/bootstrap.py", line 9, in x
    main()
KeyError: 1

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/home/me/a.py", line 1, in y
    1/0
ZeroDivisionError: division by zero
  File "/lib/worker/x.py" is no frame any more
"""


def trim(text):
    trimmer = TracebackTrimmer("/lib/worker")
    return [line for line in text.splitlines() if trimmer.keep(line)]


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        pytest.param(RAISED, slice(1, 4), id="raised"),
        pytest.param(IMPORTED, slice(1, 4), id="imported"),
        pytest.param(CHAINED, slice(1, 3), id="chained"),
    ],
)
def test_only_the_runners_own_frames_are_left_out(text, gone):
    expected = text.splitlines()
    del expected[gone]
    assert trim(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('  File "/lib/worker/x.py", line 1', id="outside-a-traceback"),
        pytest.param("plain\n\n  indented\n", id="plain-text"),
        pytest.param(
            'Traceback (most recent call last):\n  File "/lib/workers/x.py", line 1\n'
            "    f()\nE: x",
            id="a-neighbour-directory",
        ),
    ],
)
def test_everything_else_stays(text):
    assert trim(text) == text.splitlines()
