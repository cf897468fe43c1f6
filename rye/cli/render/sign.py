"""What signing did, for a reader."""

from __future__ import annotations

from collections.abc import Iterator

from rye.cli.render.parts import plural
from rye.cli.terminal import Terminal
from rye.cli.text import inline
from rye.keys.sign_items import SignReport

__all__ = ["render_signed"]


def render_signed(report: SignReport, terminal: Terminal, *, dry_run: bool) -> Iterator[str]:
    """Yield one line per item, then the count and the key."""
    for item in report.items:
        word = "unchanged" if not item.changed else "would sign" if dry_run else "signed"
        name = terminal.style(f"{inline(item.type)}:{inline(item.id)}", "cyan")
        why = f" [{inline(item.code)}]" if dry_run and item.changed and item.code else ""
        yield f"{word:<10}  {name}{why}  {terminal.dim(inline(item.path))}"
    changed = sum(item.changed for item in report.items)
    done = "to sign" if dry_run else "signed"
    left = len(report.items) - changed
    key = f" with key {inline(report.fingerprint[:16])}" if report.fingerprint else ""
    yield f"{plural(changed, 'item')} {done}{key}" + (f", {left} unchanged" if left else "")
    if report.trust_file:
        yield f"trust file {inline(report.trust_file)}"
    for path in report.removed:
        yield f"removed    trust file {inline(path)}, which no item needs any more"
