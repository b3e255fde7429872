"""The stub of the compiled twin says what the pure twin says."""

import ast
import inspect
from pathlib import Path

import pytest

from ledgence.worker import _profile, _profile_py

STUB = Path(_profile.__file__).with_name("_profile_c.pyi")
FUNCTIONS = (
    "check",
    "check_wire",
    "encode",
    "encode_frame",
    "fingerprint",
    "fit_error",
    "freeze",
    "loads",
    "thaw",
)


def parameters(function):
    """Names, kinds and defaults; annotations are the stub's matter."""
    return [
        (each.name, each.kind.name, each.default)
        for each in inspect.signature(function).parameters.values()
    ]


def stub_functions():
    tree = ast.parse(STUB.read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def stub_parameters(node):
    plain = inspect.Parameter.empty
    found = [(arg.arg, "POSITIONAL_OR_KEYWORD", plain) for arg in node.args.args]
    pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    found += [
        (arg.arg, "KEYWORD_ONLY", ast.literal_eval(value)) for arg, value in pairs
    ]
    return found


def test_the_selector_offers_the_nine_functions():
    public = set(_profile.__all__)
    assert public == {*FUNCTIONS, "BUILD", "IMPLEMENTATION", "ProfileError"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_stub_has_the_signature_of_the_pure_twin(name):
    stub = stub_functions()[name]
    assert stub_parameters(stub) == parameters(getattr(_profile_py, name))


def test_the_stub_names_nothing_else():
    assert sorted(stub_functions()) == sorted(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_says_what_it_does(profile, name):
    assert getattr(profile, name).__doc__
