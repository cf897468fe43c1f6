"""Texts of items as inert HTML: highlights, Markdown, and code with line numbers.

No tag, style or address of a text gets into a page: Markdown is rendered without HTML, images are named and not loaded,
and links lead to ``http``, ``https``, ``mailto`` or an item.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from rye._text import block

if TYPE_CHECKING:
    from markdown_it.token import Token
    from pygments.lexer import Lexer

MAX_RENDERED = 100_000
"""Characters above which a text is shown unrendered: its author decides how long rendering takes."""

MAX_LINES = 1_000
"""Lines of code on a page."""

COLOUR_SECONDS = 0.5
"""Seconds after which the rest of a text is not coloured; some lexers take quadratic time."""

_LEXERS = {
    "bash": "bash", "c": "c", "cpp": "cpp", "css": "css", "diff": "diff", "go": "go", "html": "html",
    "java": "java", "javascript": "javascript", "js": "javascript", "json": "json", "jsx": "javascript",
    "mjs": "javascript", "markdown": "markdown", "md": "markdown", "mdc": "markdown", "py": "python",
    "python": "python", "rs": "rust", "rust": "rust", "sh": "bash", "shell": "bash",
    "sql": "sql", "toml": "toml", "ts": "typescript",
    "tsx": "typescript", "typescript": "typescript", "xml": "xml", "yaml": "yaml", "yml": "yaml", "zsh": "bash",
}  # fmt: skip
"""Name of a language, in a fence or as a file extension, to the name of its lexer."""

_NOT_IN_SLUG = re.compile(r"[^\w\- ]")
_ABSOLUTE = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


class LinkedItem(NamedTuple):
    """An item that a text refers to: address of its page, and verdict."""

    address: str
    verdict: str

    @property
    def attributes(self) -> dict[str, str | int | float]:
        """HTML attributes of a link to it, which show if it is not trusted."""
        warning = {} if self.verdict == "trusted" else {"class": "uncovered", "title": f"{self.verdict}, says rye"}
        return {"href": self.address, **warning}


def marked(text: str, spans: Sequence[Sequence[int]] = ()) -> Markup:
    """Return a text with ``[start, end)`` ranges highlighted; ranges outside the text are ignored."""
    parts, at = list[str](), 0
    for start, end in sorted((max(0, start), min(end, len(text))) for start, end in spans):
        if start < at or end <= start:
            continue
        parts += [escape(block(text[at:start])), "<mark>", escape(block(text[start:end])), "</mark>"]
        at = end
    return Markup("".join([*parts, escape(block(text[at:]))]))  # noqa: S704 - each piece is escaped


def code_lines(text: str, language: str, *, first: int = 1) -> Markup:
    """Return code as a numbered list of at most :data:`MAX_LINES` lines, coloured if the language is known.

    Args:
        text: The code.
        language: Its name, or the extension of its file.
        first: The first line to show, counted from 1.
    """
    lines = _Colours().draw(text, language).split("\n")[first - 1 : first - 1 + MAX_LINES]
    return _numbered(enumerate(lines, start=first))


def _numbered(lines: Iterable[tuple[int, str]]) -> Markup:
    drawn = [f'<li id="L{number}" value="{number}"><code>{line or " "}</code></li>' for number, line in lines]
    return Markup(f'<ol class="code">{"".join(drawn)}</ol>')  # noqa: S704 - escaped by the lexer's formatter


def rendered(text: str, *, first: int = 1, targets: Mapping[str, LinkedItem] | None = None) -> Markup | None:
    """Return Markdown as HTML; None if it nests so deeply that the parser would drop text.

    Nothing that a reader of the file would read is left out: lines that only define links are shown at the end.

    Args:
        text: The Markdown.
        first: Number of its first line in the file: a heading in line 7 has the anchor ``L7``.
        targets: Reference as written to the item; links and code spans with that text lead there.
    """
    parser, env = _parser(), dict[str, Any]()
    colours = _Colours()
    tokens = parser.parse(block(text), env)
    if any(token.level >= parser.options.maxNesting - 1 for token in tokens):
        return None
    headings = {
        f"#{_slug(inner.content)}": f"#L{first + (token.map or [0])[0]}"
        for token, inner in pairwise(tokens)
        if token.type == "heading_open"
    }
    for token in tokens:
        _make_harmless(token, first, targets or {}, headings)
        if token.type in {"fence", "code_block"}:
            language, _, more = token.info.strip().partition(" ")
            code = colours.draw(token.content, language)
            named = Markup("<small>{}</small>\n").format(token.info) if more else ""
            token.type, token.content = "html_block", f'<pre tabindex="0">{named}<code>{code}</code></pre>\n'
    html = Markup(parser.renderer.render(tokens, parser.options, env))  # noqa: S704 - the parser escapes all texts
    defining = sorted(
        definition["map"] for definition in [*env.get("references", {}).values(), *env.get("duplicate_refs", ())]
    )
    lines = text.split("\n")
    defined = [(first + at, escape(block(lines[at]))) for start, end in defining for at in range(start, end)]
    return html + Markup("<p><small>Link definitions:</small></p>") + _numbered(defined) if defined else html


class _Colours:
    """Colours the code of one page within :data:`COLOUR_SECONDS` in all."""

    def __init__(self) -> None:
        self._end = time.monotonic() + COLOUR_SECONDS

    def draw(self, text: str, language: str) -> str:
        """Return code as HTML with balanced tags on each line."""
        lexer = _lexer(language.lower()) if len(text) <= MAX_RENDERED else None
        if lexer is not None:
            from pygments import format as draw
            from pygments.formatters import HtmlFormatter

            with suppress(TimeoutError):
                tokens = self._in_time(lexer.get_tokens(block(text)))
                return str(draw(tokens, HtmlFormatter(nowrap=True))).rstrip("\n")
        return str(escape(block(text.rstrip("\n"))))

    def _in_time(self, tokens: Iterable[Any]) -> Iterator[Any]:
        """Yield the tokens; raise ``TimeoutError`` once the time limit is over."""
        for token in tokens:
            if time.monotonic() > self._end:
                raise TimeoutError
            yield token


@cache
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(_LEXERS[language], stripnl=False) if language in _LEXERS else None


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _slug(heading: str) -> str:
    """Return the anchor of a heading as GitHub makes it: ``Which keys?`` has ``which-keys``."""
    return _NOT_IN_SLUG.sub("", heading.lower()).strip().replace(" ", "-")


def _make_harmless(token: Token, first: int, targets: Mapping[str, LinkedItem], headings: Mapping[str, str]) -> None:
    """Change a token so that links lead to allowed places, images are named, and headings have their line as anchor."""
    if token.type == "link_open":
        written, title = str(token.attrs.get("href", "")), str(token.attrs.get("title", ""))
        seen = f"{written} {title}".strip()
        if own := targets.get(written):
            token.attrs = own.attributes
        elif written in headings:
            token.attrs = {"href": headings[written]}
        elif _ABSOLUTE.match(written):
            token.attrs = {"href": written, "rel": "nofollow noopener noreferrer external", "class": "external"}
            token.attrs |= {"title": seen} if title else {}
        else:
            token.attrs = {"title": seen}
    elif token.type == "image":
        seen = f"{token.attrs.get('src', '')} {token.attrs.get('title', '')}".strip()
        name = Markup('<span class="image" title="%s">image: %s</span>') % (seen, token.content)
        token.type, token.content = "html_inline", str(name)
    elif token.type == "heading_open":
        token.attrs = {"id": f"L{first + (token.map or [0])[0]}"}
    elif token.type == "inline":
        depth = 0  # a link has no other within
        for child in token.children or ():
            depth += child.nesting if child.type in {"link_open", "link_close"} else 0
            _make_harmless(child, first, {} if depth and child.type == "code_inline" else targets, headings)
    elif token.type == "code_inline" and (own := targets.get(token.content)):
        attributes = Markup(" ").join(Markup('{}="{}"').format(*child) for child in own.attributes.items())
        link = Markup("<a {}><code>{}</code></a>").format(attributes, token.content)
        token.type, token.content = "html_inline", str(link)  # a Markup would escape what is written around it
