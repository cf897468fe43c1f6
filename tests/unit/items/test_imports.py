"""What the Markdown of a directive imports: files that ``@path`` names, and those in commands that a client runs."""

from __future__ import annotations

import pytest

from tests.support.files import read


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("@AGENTS.md", [("./AGENTS.md", 1)]),
        (
            "See @docs/style.md, and (@../a/b.md).\n\n- @./c.md",
            [("./docs/style.md", 1), ("../a/b.md", 1), ("./c.md", 3)],
        ),
        ("@~/.claude/mine.md @/etc/rules.md", [("~/.claude/mine.md", 1), ("/etc/rules.md", 1)]),
        ("@docs/über_uns.md", [("./docs/über_uns.md", 1)]),
        ("@README by @ann, me@example.org, @ and @@a/b", []),
        ("`@a/b.md` ``x @a/c.md`` @d/e.md", [("./d/e.md", 1)]),
        ("```\n@a/b.md\n```\n~~~\n@a/b.md\n~~~\n\n    @a/b.md\n\n<!-- @a/b.md\n\n@c/d.md -->", []),
        ("https://x.org/@a/b.md @https://x.org/a.md", []),
        ("!`cat docs/a.md --x 'b/c.txt'` KEY=!`cat d/e.md`", [("./docs/a.md", 1), ("./b/c.txt", 1)]),
        ("Is\n!`git status`", []),
        ("```!\ncat docs/a.md\n```", [("./docs/a.md", 2)]),
    ],
)
def test_imports_are_paths_outside_code(text: str, imports: list[tuple[str, int]]) -> None:
    """A relative path begins with a dot, others stay as written; names of people and URLs are none."""
    assert [tuple(one) for one in read("directives/a.md", text.encode()).imports] == imports


def test_lines_of_imports_are_lines_of_the_file() -> None:
    """Front matter counts."""
    (one,) = read("directives/a.md", "---\nname: a\n---\n\n# A\n\n@b/c.md\n").imports
    assert one == ("./b/c.md", 7)


def test_knowledge_imports_nothing() -> None:
    """No client expands it."""
    assert read("knowledge/a.md", "@b/c.md").imports == ()
