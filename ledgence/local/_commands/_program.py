"""The commands ``program ...``."""

from __future__ import annotations

from typing import Any, NoReturn

import click

from ledgence.local._commands._options import as_json, place_options
from ledgence.local._commands._root import Group

__all__ = ["program"]


@click.group(cls=Group)
def program() -> None:
    """Package and publish programs."""


@program.command("package")
@click.argument("directory")
@click.option(
    "-o", "--output", help="The archive.  [default: NAME-VERSION.zip]", metavar="FILE"
)
@as_json
def package(directory: str, **given: Any) -> NoReturn:
    """Pack a program directory; the same files always give the same bytes.

    Hidden files, environments, caches, bytecode, credentials and private keys are left
    out.
    """
    from ledgence.local._operate import (  # noqa: PLC0415 - --help must be quick
        _packaging,
    )

    _packaging.package(directory, given)


@program.command("publish")
@click.argument("source")
@click.option("--into", help="Another directory of programs.", metavar="DIRECTORY")
@place_options
def publish(source: str, **given: Any) -> NoReturn:
    """Publish a program directory or a packed archive; a version never changes."""
    from ledgence.local._operate import _packaging  # noqa: PLC0415 - as above

    _packaging.publish(source, given)


@program.command("list")
@place_options
def list_(**given: Any) -> NoReturn:
    """List the programs of the store: published ones and linked ones."""
    from ledgence.local._operate import _packaging  # noqa: PLC0415 - as above

    _packaging.list_programs(given)


@program.command("unlink")
@click.argument("name")
@place_options
def unlink(name: str, **given: Any) -> NoReturn:
    """Forget a linked program: NAME or NAME@VERSION. Its files stay."""
    from ledgence.local._operate import _packaging  # noqa: PLC0415 - as above

    _packaging.unlink(name, given)
