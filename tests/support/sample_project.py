"""The project of a small shop, signed with fixed keys: what the samples of the documentation are printed from.

``python -m tests.support.sample_project`` draws the picture of the README: what a terminal shows of a search there.
"""

from __future__ import annotations

import html
import os
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from rye.trust.trust_file import trust_file_bytes, trust_file_name
from rye.trust.trust_store import TRUSTED_FOLDER
from tests.support.signed import ANN, EVE, place, sign, skill_place
from tests.support.typist import Typist

PICTURE = Path(__file__).resolve().parents[2] / ".github" / "search.svg"
COMMAND = ("search", "refund order", "--space", "project")
_COLUMNS, _CELL, _LINE, _MARGIN = 80, 8.4, 19, 14

_COLOURS = {
    "default": "#d0d7de",
    "cyan": "#56d4dd",
    "green": "#56d364",
    "brown": "#e3b341",
    "red": "#ff7b72",
    "magenta": "#d2a8ff",
}
"""Colour of a terminal, as pyte calls it → what it is in the picture."""

_SKILL = b"""---
name: refund-order
description: Refund an order in full or in part, and tell the customer.
---

# Refund an order

Check the payment first, then run the tool shop/refund.
"""

_PLACE = skill_place("refund-order")

_TOOL = b'''"""Refunds an order through the payment service."""

__version__ = "1.2.0"


class RefundPlan:
    """Which items of an order are paid back."""


def refund_order(order: str, plan: RefundPlan) -> None:
    """Pay back what was paid for an order."""
'''

_POLICY = b"""---
title: Refund policy
description: Until when an order can be returned, and who approves a refund.
---

# Refund policy

A refund above 100 needs a second person. An order is paid back within 14 days.
"""

_NOTE = b"""---
title: Chargebacks
description: What to do when a bank takes a payment back.
---

# Chargebacks

Answer within seven days. Never refund an order that is disputed.
"""


def furnish(folder: Path) -> tuple[Path, Path]:
    """Write the project and a home whose user trusts ann, and return both."""
    project, home = folder / "shop", folder / "home"
    trusted = home / ".ai" / TRUSTED_FOLDER
    files = {
        trusted / trust_file_name(ANN.public): trust_file_bytes(ANN.public, owner="ann"),
        project / ".claude/skills/refund-order/SKILL.md": sign(_SKILL, origin=_PLACE, suffix=".md"),
        project / ".ai/tools/shop/refund.py": sign(_TOOL, EVE, origin=place("shop/refund")),
        project / ".ai/knowledge/shop/refund-policy.md": sign(
            _POLICY, origin=place("shop/refund-policy", "knowledge"), suffix=".md"
        ).replace(b"above 100 ", b"above 900 "),
        project / ".ai/knowledge/shop/chargebacks.md": _NOTE,
    }
    for path, data in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return project, home


def screen(folder: Path) -> list[list[tuple[str, str, bool]]]:
    """Return the lines that a terminal shows of the command, each as runs ``(text, colour, is bold)``."""
    project, home = furnish(folder)
    left_out = ("RYE_", "XDG_", "USER_SPACE", "NO_COLOR", "COLUMNS")
    env = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    env |= {"HOME": str(home), "RYE_CACHE_DIR": str(folder / "cache"), "TERM": "xterm-256color"}
    with Typist(*COMMAND, cwd=project, env=env, columns=_COLUMNS, lines=40) as typist:
        assert typist.end() == 0, typist.screen
        rows = typist.cells()
    lines = [
        [("".join(cell[0] for cell in run), *style) for style, run in groupby(row, key=lambda cell: cell[1:])]
        for row in rows
    ]
    while lines and not "".join(text for text, *_ in lines[-1]).strip():
        lines.pop()
    return lines


def draw(lines: list[list[tuple[str, str, bool]]]) -> str:
    """Return the picture of a terminal with a prompt, the command and these lines."""
    words = " ".join(f'"{word}"' if " " in word else word for word in COMMAND)
    lines = [[("$ ", "green", False), (f"rye {words}", "default", True)], *lines]
    width, height = round(_COLUMNS * _CELL + 2 * _MARGIN), len(lines) * _LINE + 2 * _MARGIN
    body = "\n".join(
        f'<text x="{_MARGIN}" y="{_MARGIN + _LINE * at + 14}">{"".join(_spans(line))}</text>'
        for at, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        f"<title>What rye {html.escape(words)} prints</title>\n"
        f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n'
        f'<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14"'
        f' xml:space="preserve">\n'
        f"{body}\n</g>\n</svg>\n"
    )


def _spans(line: list[tuple[str, str, bool]]) -> Iterator[str]:
    """Yield each run of a line at its own column, however wide the font is."""
    column = 0
    for text, colour, is_bold in line:
        if text.strip():
            start = column + len(text) - len(text.lstrip())
            bold = ' font-weight="bold"' if is_bold else ""
            x, length = _MARGIN + start * _CELL, len(text.strip()) * _CELL
            yield (
                f'<tspan x="{x:.1f}" textLength="{length:.1f}" fill="{_COLOURS[colour]}"{bold}>'
                f"{html.escape(text.strip(), quote=False)}</tspan>"
            )
        column += len(text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        PICTURE.write_text(draw(screen(Path(scratch))), encoding="utf-8")
