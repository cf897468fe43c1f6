"""Pasted text: which queries are text rather than language, and what they are read as.

Nobody means punctuation that stands alone as something to look for, so it is left out of every query. Shell commands,
addresses, paths and running text hold characters that are operators of the language. They are tried as written, and as
plain words where that is an error or finds nothing, or where an item holds the text word for word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from rye import query
from rye.index import analysis
from rye.index.schema import TYPE_NAMES
from rye.index.terms import escape
from rye.query import ast
from rye.query.limits import MAX_CHARS, MAX_LEAVES, MAX_PHRASE
from rye.search.fields import ALIASES, KEYWORD_FIELDS, TEXT_FIELDS

WORDS_PER_SIGN = 4
"""Running text has more plain words than this, and as many more for each sign of the language in it."""

INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
"""Characters inside of words that nobody sees: soft hyphen, zero-width space, word joiner, byte order mark."""

_NAMES = """
ansible apt apt-get awk aws az bash brew bundle cargo cat cd chmod chown cmake composer conda cp curl deno
docker docker-compose echo export gcc gcloud gem gh git go gradle grep gunzip gzip helm heroku java jq
kubectl ls make mkdir mv mvn mypy node npm npx openssl php pip pip3 pipx pnpm podman poetry psql pytest
python python3 redis-cli rg rm rsync ruby ruff rustup rye scp sed sh sqlite3 ssh sudo systemctl tar
terraform tmux unzip uv vim wget xargs yarn zip zsh
"""
COMMANDS = frozenset(_NAMES.split())
"""Names that begin a shell command where at least two words follow."""

_PROMPT = re.compile(r"\s*(?P<prompt>[$#%>]\s+)?(?:[A-Z_][A-Z0-9_]*=\S*\s+|sudo\s+)*(?P<name>\S+)(?P<rest>[\s\S]*)")
_NAME = re.compile(r"[a-z][\w.+-]+|(?:\.{0,2}|~)/\S+")
_OPTION = re.compile(r"(?<!\S)(?:-[A-Za-z0-9]{1,2}|--[a-z][\w-]*(?:=\S*)?)(?!\S)")
_ADDRESS = re.compile(r"\w+://\S|/|\S=\S|\.\w+\?")
_INSIDE = re.compile(r"[*?][^*?]")
_WORD = re.compile(r"\S+")
_SYMBOL = re.compile(r"[/\\:=$&|<>{}()\[\]]")
_FIELDS = "|".join(map(re.escape, (*TEXT_FIELDS, *KEYWORD_FIELDS, *ALIASES, *TYPE_NAMES)))
_OPERATOR = re.compile(r"AND|OR|NOT|NEAR(?:/\w+)?")
_SIGN = re.compile(
    rf"\(*(?:(?:{_OPERATOR.pattern})\Z|-\w|-?(?:{_FIELDS}):[^\s/:]|-?[\w.-]+:[\[{{]|\S*\w\*|\*\w|\S*\w[~^][\d.]*\)*\Z)"
)

_Cleaned: TypeAlias = tuple[ast.Node | None, tuple[ast.Dropped, ...]]


def without_punctuation(node: ast.Node) -> tuple[ast.Node, tuple[ast.Dropped, ...]]:
    """Leave out words that are nothing but punctuation, and invisible characters inside of words.

    The value of a field and an operand of NEAR are asked for by name, so these stay.

    Returns:
        The query without them, and a report on each.
    """
    cleaned, dropped = ast.fold(node, _clean)
    return cleaned or ast.Everything(), dropped


def _clean(node: ast.Node, below: Sequence[_Cleaned]) -> _Cleaned:
    kept = [one for one, _ in below if one is not None]
    dropped = tuple(each for _, left in below for each in left)
    match node:
        case ast.Word(text=text) if not text.isalnum():
            visible = text.translate(INVISIBLE)
            if not analysis.searchable(visible):
                return None, (ast.Dropped(node.span[0], text, "punctuation alone is not looked for"),)
            if visible == text:
                return node, ()
            names = ", ".join(sorted({unicodedata.name(ch).lower() for ch in text if ord(ch) in INVISIBLE}))
            return replace(node, text=visible), (ast.Dropped(node.span[0], text, f"{names} was taken out of the word"),)
        case ast.And() | ast.Or() if len(kept) < 2:
            return (kept[0] if kept else None), dropped
        case ast.And() | ast.Or():
            return replace(node, operands=tuple(kept)), dropped
        case ast.Not() | ast.Boost() if not kept:
            return None, dropped
        case _ if len(kept) < len(below):
            return node, ()
        case _:
            return query.with_children(node, kept), dropped


def as_text(text: str) -> ast.Node:
    """Return the words of a text, without any operator."""
    found = (ast.Word(each[0].translate(INVISIBLE), each.span()) for each in _WORD.finditer(text[:MAX_CHARS]))
    words = tuple(word for word in found if analysis.searchable(word.text))[:MAX_LEAVES]
    if len(words) < 2:
        return words[0] if words else ast.Everything()
    return ast.And(words, (words[0].span[0], words[-1].span[1]))


def is_pasted(text: str, node: ast.Node | None) -> bool:
    """Return whether a query may be text: a shell command, an address or path, running text, or an operator alone.

    Args:
        text: The query as written.
        node: What it says in the language; None where it is not well-formed.
    """
    if node is None and ("://" in text or '"""' in text or _OPERATOR.fullmatch(text.strip())):
        return True
    if node is not None and _has_address(node):
        return True
    return _is_command(text) or _is_running_text(text, quotes=node is not None)


def as_phrase(text: str) -> ast.Node | None:
    """Return a search for the text word for word, where it is surely pasted."""
    if not ("://" in text or _is_command(text, option=False) or _is_running_text(text)):
        return None
    return ast.Phrase(text) if 1 < len(analysis.parts(text)) <= MAX_PHRASE else None


def verbatim(text: str) -> ast.Node | None:
    """Return a search for words as they stand in a text: what has them so comes before other items with all of them.

    Of a few plain words, nothing says that they belong together. A path is looked for in the joined forms of paths.
    """
    parts = analysis.parts(text)
    if not 1 < len(parts) <= MAX_PHRASE:
        return None
    words = text.split()
    if len(words) == 1 and len(analysis.chunks(analysis.normalize(text))) == 1:
        return ast.Wildcard(f"*{escape(analysis.joined(parts))}*") if "/" in text else None
    is_text = len(words) > WORDS_PER_SIGN or words[0] in COMMANDS or _SYMBOL.search(text)
    return ast.Phrase(text) if is_text else None


def _is_command(text: str, *, option: bool = True) -> bool:
    """Return whether a text begins like a shell command: a prompt, a known command, or a word that has an option."""
    found = _PROMPT.fullmatch(text)
    if not found or not _NAME.fullmatch(found["name"]):
        return False
    known = found["name"] in COMMANDS and len(found["rest"].split()) > 1
    return bool(found["prompt"]) or known or (option and bool(_OPTION.search(found["rest"])))


def _is_running_text(text: str, *, quotes: bool = True) -> bool:
    """Return whether plain words outweigh what could be signs of the language, ``quotes`` among them."""
    words = [word for word in text[:MAX_CHARS].split() if word.strip("*?")]
    signs = sum(bool(_SIGN.match(word) or (quotes and '"' in word)) for word in words)
    return len(words) - signs > WORDS_PER_SIGN * (1 + signs)


def _has_address(node: ast.Node) -> bool:
    """Return whether a query is words and nothing else, one of which has a wildcard inside an address or path."""
    operands = node.operands if isinstance(node, ast.And) else (node,)
    if not all(isinstance(one, ast.Word | ast.Wildcard | ast.Phrase) for one in operands):
        return False
    patterns = [one.pattern for one in operands if isinstance(one, ast.Wildcard)]
    return any(_INSIDE.search(pattern) and _ADDRESS.search(pattern) for pattern in patterns)
