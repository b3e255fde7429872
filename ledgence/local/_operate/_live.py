"""A tree of a run on a terminal, kept up to date below what programs say."""

from __future__ import annotations

import contextlib
from collections import Counter

from rich.console import Console
from rich.live import Live
from rich.text import Text
from rich.tree import Tree

from ledgence.local._operate._display import short_id
from ledgence.local._operate._show import in_words
from ledgence.local._operate._tree import Node

__all__ = ["LiveDisplay", "render"]

# What fits beside the output of programs on a small terminal.
_CHILDREN = 12
_STYLES = {
    "succeeded": "green",
    "failed": "red",
    "failing": "red",
    "cancelled": "yellow",
    "cancelling": "yellow",
    "running": "cyan",
    "active": "cyan",
}


class LiveDisplay:
    """Shows a tree on standard error until it is closed."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._live = Live(
            console=self._console,
            auto_refresh=False,
            redirect_stderr=False,
            redirect_stdout=False,
            transient=True,
        )
        self._live.start()

    def line(self, text: str) -> None:
        """Print a line above the tree."""
        # The terminal may be gone; the run goes on all the same.
        with contextlib.suppress(OSError, ValueError):
            self._console.print(Text(text), soft_wrap=True)

    def update(self, tree: Node | None, now: int) -> None:
        """Draw the tree anew."""
        if tree is not None:
            with contextlib.suppress(OSError, ValueError):
                self._live.update(render(tree, now), refresh=True)

    def close(self) -> None:
        """Take the tree away; the lines stay."""
        with contextlib.suppress(OSError, ValueError):
            self._live.stop()


def render(node: Node, now: int) -> Tree:
    """Return a run as a tree of lines."""
    tree = Tree(_label(node, now))
    _fill(tree, node, now)
    return tree


def _fill(tree: Tree, node: Node, now: int) -> None:
    for revision, continuation, state in node.activations:
        label = Text(f"activation {revision} {continuation}  ", style="dim")
        tree.add(label.append(state, style=_STYLES.get(state, "")))
    if node.wait is not None:
        label = Text(f"waits for {node.wait.kind} {node.wait.key!r}", style="magenta")
        if node.wait.deadline is not None:
            left = in_words(max(0, node.wait.deadline - now))
            label.append(f"  {left} left", style="dim")
        tree.add(label)
    shown = sorted(node.children, key=lambda child: child.over)[:_CHILDREN]
    for child in shown:
        branch = tree.add(_label(child, now))
        if not child.over:
            _fill(branch, child, now)
    hidden = Counter(child.state for child in node.children if child not in shown)
    if hidden:
        counts = ", ".join(f"{count} {state}" for state, count in hidden.items())
        tree.add(Text(f"and {counts}", style="dim"))


def _label(node: Node, now: int) -> Text:
    label = Text(node.key, style="bold")
    label.append(f"  {node.kind} {short_id(node.id)}  ", style="dim")
    label.append(node.state, style=_STYLES.get(node.state, ""))
    if node.attempts > 1 or node.retries:
        failed = " failed" if node.retries else ""
        label.append(f"  attempt {node.attempts}{failed}", style="yellow")
    if node.available_at is not None and node.available_at > now:
        label.append(f"  again in {in_words(node.available_at - now)}", style="yellow")
    took = (node.ended_at or now) - node.began_at
    return label.append(f"  {in_words(max(0, took))}", style="dim")
