"""Texts of items as HTML that does nothing: marked passages, Markdown, and code with its lines numbered.

No tag, style or address of a text gets into a page: Markdown is rendered without HTML, images are named and not loaded,
and links lead to ``http``, ``https``, ``mailto`` or an item.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from rye._text import block

if TYPE_CHECKING:
    from markdown_it.token import Token
    from pygments.lexer import Lexer

MAX_RENDERED = 200_000
"""Characters above which a text is shown as it stands: rendering takes time that whoever wrote it would decide."""

_LEXERS = {
    "bash": "bash", "c": "c", "cpp": "cpp", "css": "css", "diff": "diff", "go": "go", "html": "html", "ini": "ini",
    "java": "java", "javascript": "javascript", "js": "javascript", "json": "json", "jsx": "javascript",
    "mjs": "javascript", "markdown": "markdown", "md": "markdown", "mdc": "markdown", "py": "python",
    "python": "python", "rs": "rust", "rust": "rust", "sh": "bash", "shell": "bash",
    "sql": "sql", "toml": "toml", "ts": "typescript",
    "tsx": "typescript", "typescript": "typescript", "xml": "xml", "yaml": "yaml", "yml": "yaml", "zsh": "bash",
}  # fmt: skip
"""Names of languages, in fences and of files, by the lexer that knows them."""

_ABSOLUTE = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


def marked(text: str, spans: Sequence[Sequence[int]] = ()) -> Markup:
    """Return a text with the characters in ``[start, end)`` ranges of it marked; what lies outside is ignored."""
    parts, at = [], 0
    for start, end in sorted((max(0, start), min(end, len(text))) for start, end in spans):
        if start < at or end <= start:
            continue
        parts += [escape(block(text[at:start])), Markup("<mark>%s</mark>") % block(text[start:end])]
        at = end
    return Markup("").join([*parts, escape(block(text[at:]))])


def split_head(content: str) -> tuple[str, str]:
    """Return the head of a Markdown file (signature line and front matter) and what is below it."""
    lines = content.splitlines(keepends=True)
    at = int(bool(lines) and re.match(r"<!--[ \t]*rye(?:os)?:signed:", lines[0]) is not None)
    if len(lines) > at and lines[at].rstrip() == "---":
        closing = (number for number, line in enumerate(lines) if number > at and line.rstrip() in {"---", "..."})
        at = next(closing, at - 1) + 1
    return "".join(lines[:at]), "".join(lines[at:])


def code_lines(text: str, language: str, *, first: int = 1, uncovered: Collection[int] = ()) -> Markup:
    """Return code as a numbered list of lines, coloured where the language is known.

    Args:
        text: The code.
        language: Its name, or the extension of its file.
        first: Number of the first line.
        uncovered: Numbers of lines that are set apart, as no signature covers them.
    """
    lines = _coloured(text, language).split("\n")
    drawn = []
    for number, line in enumerate(lines, start=first):
        kind = ' class="uncovered"' if number in uncovered else ""
        drawn.append(f'<li id="L{number}" value="{number}"{kind}><code>{line or " "}</code></li>')
    return Markup(f'<ol class="code">{"".join(drawn)}</ol>')  # noqa: S704 - escaped by the lexer's formatter


def rendered(
    text: str, *, first: int = 1, targets: Mapping[str, str] | None = None, uncovered: Collection[int] = ()
) -> Markup:
    """Return Markdown as HTML.

    Args:
        text: The Markdown.
        first: Number of its first line in the file: a heading in line 7 has the anchor ``L7``.
        targets: Addresses of items by the reference as the text writes it.
        uncovered: Numbers of lines; the blocks that have one are set apart, as no signature covers it.
    """
    parser, env = _parser(), dict[str, Any]()
    tokens = [_harmless(token, first, targets or {}) for token in parser.parse(block(text), env)]
    for token in tokens:
        if token.map and token.nesting >= 0 and any(first + line in uncovered for line in range(*token.map)):
            token.attrJoin("class", "uncovered")
    return Markup(parser.renderer.render(tokens, parser.options, env))  # noqa: S704 - the parser escapes all texts


def _coloured(text: str, language: str) -> str:
    """Return code as HTML, each line of it whole in itself."""
    lexer = _lexer(language.lower()) if len(text) <= MAX_RENDERED else None
    if lexer is None:
        return str(escape(block(text.rstrip("\n"))))
    from pygments import highlight
    from pygments.formatters import HtmlFormatter

    return str(highlight(block(text), lexer, HtmlFormatter(nowrap=True))).rstrip("\n")


@cache
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(_LEXERS[language], stripnl=False) if language in _LEXERS else None


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _harmless(token: Token, first: int, targets: Mapping[str, str]) -> Token:
    """Change a token so that links lead somewhere known, images are named, and headings have their line as anchor."""
    if token.type == "link_open":
        written = str(token.attrs.get("href", ""))
        if own := targets.get(written):
            token.attrs = {"href": own}
        elif _ABSOLUTE.match(written):
            token.attrs = {"href": written, "rel": "nofollow noopener noreferrer external", "class": "external"}
        else:
            token.attrs = {"title": written}
    elif token.type == "image":
        name = Markup('<span class="image" title="%s">image: %s</span>') % (token.attrs.get("src", ""), token.content)
        token.type, token.content = "html_inline", str(name)
    elif token.type in {"fence", "code_block"}:
        code = _coloured(token.content, (token.info.split() or [""])[0])
        token.type, token.content = "html_block", f'<pre tabindex="0"><code>{code}</code></pre>\n'
    elif token.type == "heading_open":
        token.attrs = {"id": f"L{first + (token.map or [0])[0]}"}
    elif token.type == "inline":
        token.children = [_harmless(each, first, targets) for each in token.children or ()]
    return token
