"""Texts of items as HTML that does nothing: marked passages, Markdown, and code with its lines numbered.

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
"""Characters above which a text is shown as it stands: rendering takes time that whoever wrote it would decide."""

MAX_LINES = 1_000
"""Lines of code that a page shows at most."""

COLOUR_SECONDS = 0.5
"""Seconds after which the rest of a text is not coloured: some lexers take time by the square of its length."""

_LEXERS = {
    "bash": "bash", "c": "c", "cpp": "cpp", "css": "css", "diff": "diff", "go": "go", "html": "html",
    "java": "java", "javascript": "javascript", "js": "javascript", "json": "json", "jsx": "javascript",
    "mjs": "javascript", "markdown": "markdown", "md": "markdown", "mdc": "markdown", "py": "python",
    "python": "python", "rs": "rust", "rust": "rust", "sh": "bash", "shell": "bash",
    "sql": "sql", "toml": "toml", "ts": "typescript",
    "tsx": "typescript", "typescript": "typescript", "xml": "xml", "yaml": "yaml", "yml": "yaml", "zsh": "bash",
}  # fmt: skip
"""Names of languages, in fences and of files, by the lexer that knows them."""

_NOT_IN_SLUG = re.compile(r"[^\w\- ]")
_ABSOLUTE = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


class LinkedItem(NamedTuple):
    """An item that a text refers to: the address of its page, and its verdict."""

    address: str
    verdict: str

    @property
    def attributes(self) -> dict[str, str | int | float]:
        """Those of a link to it, which shows where the item is not trusted."""
        doubt = {} if self.verdict == "trusted" else {"class": "uncovered", "title": f"{self.verdict}, says rye"}
        return {"href": self.address, **doubt}


def marked(text: str, spans: Sequence[Sequence[int]] = ()) -> Markup:
    """Return a text with the characters in ``[start, end)`` ranges of it marked; what lies outside is ignored."""
    parts, at = list[str](), 0
    for start, end in sorted((max(0, start), min(end, len(text))) for start, end in spans):
        if start < at or end <= start:
            continue
        parts += [escape(block(text[at:start])), "<mark>", escape(block(text[start:end])), "</mark>"]
        at = end
    return Markup("".join([*parts, escape(block(text[at:]))]))  # noqa: S704 - each piece is escaped


def code_lines(text: str, language: str, *, first: int = 1) -> Markup:
    """Return code as a numbered list of :data:`MAX_LINES` lines at most, coloured where the language is known.

    Args:
        text: The code.
        language: Its name, or the extension of its file.
        first: The first line to show, counted from 1.
    """
    lines = _Colours().draw(text, language).split("\n")[first - 1 : first - 1 + MAX_LINES]
    return _numbered(enumerate(lines, start=first))


def _numbered(lines: Iterable[tuple[int, str]]) -> Markup:
    """Return lines of HTML as a list, each with its number."""
    drawn = [f'<li id="L{number}" value="{number}"><code>{line or " "}</code></li>' for number, line in lines]
    return Markup(f'<ol class="code">{"".join(drawn)}</ol>')  # noqa: S704 - escaped by the lexer's formatter


def rendered(text: str, *, first: int = 1, targets: Mapping[str, LinkedItem] | None = None) -> Markup | None:
    """Return Markdown as HTML; None where it is nested so deeply that the parser would leave words out.

    Nothing is left out that whoever reads the file would read: lines that only define links stand at the end.

    Args:
        text: The Markdown.
        first: Number of its first line in the file: a heading in line 7 has the anchor ``L7``.
        targets: Items by the reference as the text writes it; links and code that are such a reference lead there.
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
    defining = sorted(each["map"] for each in [*env.get("references", {}).values(), *env.get("duplicate_refs", ())])
    lines = text.split("\n")
    defined = [(first + at, escape(block(lines[at]))) for start, end in defining for at in range(start, end)]
    return html + Markup("<p><small>Link definitions:</small></p>") + _numbered(defined) if defined else html


class _Colours:
    """Colours the code of one page, within :data:`COLOUR_SECONDS` for all of it."""

    def __init__(self) -> None:
        self._end = time.monotonic() + COLOUR_SECONDS

    def draw(self, text: str, language: str) -> str:
        """Return code as HTML, each line of it whole in itself."""
        lexer = _lexer(language.lower()) if len(text) <= MAX_RENDERED else None
        if lexer is not None:
            from pygments import format as draw
            from pygments.formatters import HtmlFormatter

            with suppress(TimeoutError):
                tokens = self._in_time(lexer.get_tokens(block(text)))
                return str(draw(tokens, HtmlFormatter(nowrap=True))).rstrip("\n")
        return str(escape(block(text.rstrip("\n"))))

    def _in_time(self, tokens: Iterable[Any]) -> Iterator[Any]:
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
    """Return the anchor that GitHub gives a heading: ``Which keys?`` has ``which-keys``."""
    return _NOT_IN_SLUG.sub("", heading.lower()).strip().replace(" ", "-")


def _make_harmless(token: Token, first: int, targets: Mapping[str, LinkedItem], headings: Mapping[str, str]) -> None:
    """Change a token so that links lead somewhere known, images are named, and headings have their line as anchor."""
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
        for each in token.children or ():
            depth += each.nesting if each.type in {"link_open", "link_close"} else 0
            _make_harmless(each, first, {} if depth and each.type == "code_inline" else targets, headings)
    elif token.type == "code_inline" and (own := targets.get(token.content)):
        attributes = Markup(" ").join(Markup('{}="{}"').format(*each) for each in own.attributes.items())
        link = Markup("<a {}><code>{}</code></a>").format(attributes, token.content)
        token.type, token.content = "html_inline", str(link)  # a Markup would escape what is written around it
