"""What the site adds to the pages of ``items``: a front page, links, and the reference of the Python API."""

from __future__ import annotations

import re
from typing import Any

from mkdocs.structure.files import File, Files

import rye
from rye.items.yaml import load

_PAGE_NAME = re.compile(r"(?<![\[`])`rye/([a-z-]+)`(?!`)")
_FENCED = re.compile(r"(^ *```.*?^ *```)", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    """Add a front page that says what each page is about, and the page of what ``rye`` exports."""
    about = [(file.src_uri, load(file.content_string.split("---\n")[1])) for file in files.documentation_pages()]
    rows = "\n".join(f"- [{facts['title']}]({name}): {facts['description']}" for name, facts in about)
    files.append(File.generated(config, "index.md", content=f"# {config.site_description}\n\n{rows}\n"))
    names = "\n\n".join(f"::: rye.{name}" for name in rye.__all__)
    files.append(File.generated(config, "api.md", content=f"# Python reference\n\n{names}\n"))
    return files


def on_page_markdown(markdown: str, files: Files, **_context: Any) -> str:
    """Let the name of a page in a text, such as ```rye/results```, lead to it."""
    parts = _FENCED.split(markdown)
    parts[::2] = [_PAGE_NAME.sub(lambda match: _link(match, files), part) for part in parts[::2]]
    return "".join(parts)


def _link(match: re.Match[str], files: Files) -> str:
    name = f"{match[1]}.md"
    return match[0] if files.get_file_from_path(name) is None else f"[{match[0]}]({name})"
