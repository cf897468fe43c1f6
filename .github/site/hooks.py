"""What the site adds to the manual: the README as front page, pages of ``.github``, links, and the Python API."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

import rye

_ROOT = Path(__file__).resolve().parents[2]
_PROJECT = ("ARCHITECTURE", "ATTACKS", "CHANGELOG", "CONTRIBUTING", "RELEASES", "SECURITY")
"""Pages of ``.github`` that the site shows."""
_PICTURE = "search.svg"
_PAGE_NAME = re.compile(r"(?<![\[`])`rye/([a-z-]+)`(?!`)")
_FENCED = re.compile(r"(^ *```.*?^ *```)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^):#]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the README, the pages of ``.github``, and the page of what ``rye`` exports."""
    files.append(File.generated(config, "index.md", content=_moved(_ROOT / "README.md")))
    files.append(File.generated(config, _PICTURE, content=(_ROOT / ".github" / _PICTURE).read_bytes()))
    for name in _PROJECT:
        content = _moved(_ROOT / ".github" / f"{name}.md")
        files.append(File.generated(config, f"{name.lower()}.md", content=content))
    names = "\n\n".join(f"::: rye.{name}" for name in rye.__all__)
    files.append(File.generated(config, "api.md", content=f"# Python reference\n\n{names}\n"))
    return files


def _moved(page: Path) -> str:
    """Return the text of a page with its links to other pages as they are on the site."""

    def moved(match: re.Match[str]) -> str:
        target = (page.parent / match[1]).resolve()
        on_site = target.parent == _ROOT / "items" / "knowledge" / "rye" or target.stem in _PROJECT
        if target.name == _PICTURE or on_site:
            return f"]({target.name if target.name == _PICTURE else target.name.lower()}{match[2] or ''})"
        return f"](https://github.com/OWNER/rye/blob/main/{target.relative_to(_ROOT).as_posix()})"

    return _LINK.sub(moved, page.read_text(encoding="utf-8"))


def on_page_markdown(markdown: str, files: Files, **_context: Any) -> str:
    """Let the name of a page in a text, such as ```rye/trust```, lead to it."""
    parts = _FENCED.split(markdown)
    parts[::2] = [_PAGE_NAME.sub(lambda match: _link(match, files), part) for part in parts[::2]]
    return "".join(parts)


def _link(match: re.Match[str], files: Files) -> str:
    name = f"{match[1]}.md"
    return match[0] if files.get_file_from_path(name) is None else f"[{match[0]}]({name})"
