"""The command line and the checks before anything is imported."""

import sys

import pytest

from ledgence.worker._runner import options
from ledgence.worker._runner.options import StartRefused, UsageError, parse

REQUIRED = ["--package-root", "/p", "--handler", "m:f", "--python-version", "3.11"]
RUNNING = f"{sys.version_info[0]}.{sys.version_info[1]}"


def test_the_required_options_are_enough():
    flags = parse(REQUIRED)
    assert (flags.package_root, flags.handler, flags.python_version) == (
        "/p",
        "m:f",
        "3.11",
    )
    assert (flags.protocol, flags.max_input_bytes, flags.max_output_bytes) == (
        1,
        2_097_152,
        2_097_152,
    )
    assert not flags.show_help


def test_all_options_are_read_in_any_order():
    flags = parse(
        [
            *("--max-output-bytes", "300", "--protocol-version", "3"),
            *REQUIRED,
            "--max-input-bytes=400",
        ]
    )
    assert (flags.protocol, flags.max_input_bytes, flags.max_output_bytes) == (
        3,
        400,
        300,
    )


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_is_seen_before_anything_is_missed(flag):
    assert parse([flag]).show_help
    assert parse([*REQUIRED, flag, "--nonsense"]).show_help


def test_an_empty_value_is_a_value():
    assert parse([*REQUIRED, "--handler", ""]).handler == ""


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "--package-root, --handler, --python-version"),
        (REQUIRED[2:], "--package-root"),
        (REQUIRED[:-2], "--python-version"),
        ([*REQUIRED, "--what"], "--what"),
        ([*REQUIRED, "what"], "what"),
        ([*REQUIRED, "--handler"], "--handler"),
        ([*REQUIRED, "--handler", "--help-me"], "--handler"),
        ([*REQUIRED, "--protocol-version", "0"], "--protocol-version"),
        ([*REQUIRED, "--protocol-version", "03"], "--protocol-version"),
        ([*REQUIRED, "--max-input-bytes", ""], "--max-input-bytes"),
        ([*REQUIRED, "--max-input-bytes", "-"], "--max-input-bytes"),
        ([*REQUIRED, "--max-input-bytes", "1e3"], "--max-input-bytes"),
        ([*REQUIRED, "--max-output-bytes", "²"], "--max-output-bytes"),
        ([*REQUIRED, "--max-output-bytes", "9" * 20], "--max-output-bytes"),
    ],
)
def test_a_wrong_command_line_names_the_option(arguments, named):
    with pytest.raises(UsageError) as caught:
        parse(arguments)
    assert named in str(caught.value)


@pytest.mark.parametrize(("size", "fits"), [("-1", 0), ("255", 0), ("256", 1)])
@pytest.mark.parametrize("option", ["--max-input-bytes", "--max-output-bytes"])
def test_both_limits_are_at_least_256(option, size, fits):
    flags = parse([*REQUIRED, option, size])
    if fits:
        options.check_limits(flags)
    else:
        with pytest.raises(StartRefused, match="256"):
            options.check_limits(flags)


def test_the_interpreter_must_be_the_one_wanted(monkeypatch):
    assert options.check_interpreter(RUNNING) == RUNNING
    with pytest.raises(StartRefused, match=RUNNING):
        options.check_interpreter("2.7")
    monkeypatch.setattr(options.sys, "version_info", (3, 10, 1))
    with pytest.raises(StartRefused, match=r"3\.11 or later"):
        options.check_interpreter("3.10")


def test_the_interpreter_must_be_cpython(monkeypatch):
    class Implementation:
        name = "pypy"

    monkeypatch.setattr(options.sys, "implementation", Implementation)
    with pytest.raises(StartRefused, match="pypy"):
        options.check_interpreter(RUNNING)


def test_the_root_is_resolved_through_symlinks(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert options.resolve_root(str(tmp_path / "link")) == str(tmp_path / "real")


@pytest.mark.parametrize("name", ["absent", "file", "loop", "nul\0"])
def test_a_root_that_is_no_directory_is_refused(tmp_path, name):
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(StartRefused):
        options.resolve_root(f"{tmp_path}/{name}")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("m:f", ("m", "f")),
        ("a.b.c:handle", ("a.b.c", "handle")),
        ("größe.模块:функция", ("größe.模块", "функция")),
        ("m", None),
        ("", None),
        (":", None),
        ("m:", None),
        (":f", None),
        ("m:f:g", None),
        ("m:f.g", None),
        (".m:f", None),
        ("m.:f", None),
        ("m f:g", None),
        ("1m:f", None),
        ("m:f ", None),
    ],
)
def test_a_handler_is_dotted_identifiers_and_an_identifier(text, parts):
    if parts is not None:
        assert options.split_handler(text) == parts
    else:
        with pytest.raises(StartRefused):
            options.split_handler(text)
