"""Pasted text: which queries that are no correct ones are read as plain words.

Shell commands, addresses and running text hold characters that are operators of the language. A query that parses
means what it says; one that does not, and looks copied, is read as words. Punctuation that stands alone is left out of
every query.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Sequence
from dataclasses import replace
from typing import TypeAlias

from rye import query
from rye._text import unseen, visible
from rye.index import analysis
from rye.index.schema import TYPE_NAMES
from rye.index.terms import escape
from rye.query import ast
from rye.query.limits import MAX_CHARS, MAX_LEAVES, MAX_PHRASE, cut
from rye.search.fields import ALIASES, KEYWORD_FIELDS, TEXT_FIELDS, canonical

WORDS_PER_SIGN = 4
"""Running text has more plain words than this, and as many more for each sign of the language in it."""

SHOUTED = 4
"""Words in capitals alone from which on a query looks copied, such as ``HTTP 404 NOT FOUND``."""

_NAMES = """
7z [ ansible ansible-playbook apt apt-get awk aws az base64 bash brew bun bundle cargo cat cd chmod chown clang
clang++ cmake code composer conda convert cp crontab curl cut dd deno df diff dig dnf docker docker-compose dpkg du
echo emacs env export ffmpeg find fish free g++ gcc gcloud gdb gem gh git go gradle grep gunzip gzip head helm heroku
ip iptables java javac journalctl jq kill killall kubectl less ln ls lsof make man mkdir mount mv mvn mypy mysql nc
netstat nginx nmap node nohup npm npx nslookup nvidia-smi openssl patch perl pg_dump php ping pip pip3 pipx pkill pnpm
podman poetry powershell ps psql pwsh pytest python python3 redis-cli rg rm rpm rsync ruby ruff rustc rustup rye scp
screen sed set sftp sh sort sqlite3 ss ssh strace su sudo swift systemctl tail tar tee terraform tmux touch tr uname
uniq unzip uv valgrind vim watch wc wget which xargs xz yarn yum zip zsh zstd
"""
COMMANDS = frozenset(_NAMES.split())
"""Names that begin a shell command where at least two words follow, or one that is no plain word."""

_PROMPT = re.compile(r"\s*(?P<prompt>[$#%>]\s+)?(?:[A-Z_][A-Z0-9_]*=\S*\s+|sudo\s+)*(?P<name>\S+)(?P<rest>[\s\S]*)")
_NAME = re.compile(r"[a-z][\w.+-]+")
_PATH = re.compile(r"\"?(?:\.{0,2}|~|\$\w+|\$\{\w+\})/\S+")
_SIGNS = re.compile(r"[^\w\s]")
_OPTION = re.compile(r"(?<!\S)(?:-[A-Za-z0-9]{1,2}|--[a-z][\w-]*(?:=\S*)?)(?!\S)")
_DASH = re.compile(r"(?<!\S)-\w")
_MEANT = re.compile(r"\)[~^]|(?<![^\s(])!\w")
_WORD = re.compile(r"\S+")
_SYMBOL = re.compile(r"[/\\:=$&|<>{}()\[\]]")
_FIELD_NAMES = (*TEXT_FIELDS, *KEYWORD_FIELDS, *ALIASES, *TYPE_NAMES)
_FIELDS = "|".join(map(re.escape, _FIELD_NAMES))
_OPERATOR = re.compile(r"AND|OR|NOT|NEAR(?:/\w+)?")
_OPERATORS = re.compile(rf"(?<![^\s(])(?:{_OPERATOR.pattern}|&&)(?!\S)")
_SIGN = re.compile(
    rf"\(*+(?:(?:{_OPERATOR.pattern})\Z|-\w|-?(?:{_FIELDS}):[^\s/:]|-?[\w.-]+:[\[{{]|\S*\w\*|\*\w|\S*\w[~^][\d.]*\)*\Z)"
)

_Cleaned: TypeAlias = tuple[ast.Node | None, tuple[ast.Dropped, ...]]


def without_invisible(text: str) -> tuple[str, tuple[ast.Dropped, ...]]:
    """Return a text without characters that nobody sees, such as a zero-width space, and a report on these."""
    if text.isascii() or not (places := list(unseen(text))):
        return text, ()
    found = "".join(dict.fromkeys(char for _, char in places))
    names = ", ".join(unicodedata.name(char, f"U+{ord(char):04X}").lower() for char in found)
    return visible(text), (ast.Dropped(places[0][0], found, f"{names} was taken out, because nobody sees it"),)


def shortened(text: str) -> tuple[str, str]:
    """Return a query within the limit of characters, and a warning if it was longer."""
    kept = cut(text)
    return (
        kept,
        "" if kept == text else f"the query has {len(text):,} characters; only the first {len(kept):,} were searched",
    )


def without_punctuation(node: ast.Node) -> tuple[ast.Node, tuple[ast.Dropped, ...]]:
    """Leave out words that are nothing but punctuation; where nothing else is left, nothing is found.

    The value of a field and an operand of NEAR are asked for by name, so these stay.

    Returns:
        The query without them, and a report on each.
    """
    if (words := query.as_words(node)) and all(word.text.isalnum() for word in words):
        return node, ()
    cleaned, dropped = ast.fold(node, _clean)
    return cleaned or ast.Not(ast.Everything()), dropped


def _clean(node: ast.Node, below: Sequence[_Cleaned]) -> _Cleaned:
    kept = [one for one, _ in below if one is not None]
    dropped = tuple(each for _, left in below for each in left)
    match node:
        case ast.Word(text=text) | ast.Wildcard(pattern=text) if not (text.isalnum() or analysis.searchable(text)):
            return None, (ast.Dropped(node.span[0], text, "punctuation alone is not looked for"),)
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
    found = (ast.Word(each[0], each.span()) for each in _WORD.finditer(text[:MAX_CHARS]))
    words = tuple(word for word in found if analysis.searchable(word.text))[:MAX_LEAVES]
    if len(words) < 2:
        return words[0] if words else ast.Everything()
    return ast.And(words, (words[0].span[0], words[-1].span[1]))


def is_pasted(text: str) -> bool:
    """Return whether a query that does not parse may be text: copied from somewhere, or words with a slip of signs."""
    return is_copied(text) or '"""' in text or is_bare(text)


def is_copied(text: str) -> bool:
    """Return whether a text looks like a command, an address, running text or a line in capitals."""
    return "://" in text or _is_command(text) or _is_running_text(text) or _is_shouted(text, SHOUTED)


def is_bare(text: str) -> bool:
    """Return whether a text that is an error holds words alone, beside the marks that are out of place in it.

    An operator that stands first has nothing to join. None may follow, and its repair has no field, phrase or the like.
    """
    if _MEANT.search(text) or any(found.start() for found in _OPERATORS.finditer(text.strip())):
        return False
    repaired = query.parse(text, lenient=True).ast
    return isinstance(repaired, ast.Everything) or query.as_words(repaired) is not None


def may_name_no_field(node: ast.Node, fields: Container[str]) -> bool:
    """Return whether a query is words and ``name:word`` without any of the fields, as in ``listen on localhost:80``."""
    return all(
        isinstance(one, ast.Word | ast.Wildcard)
        or (
            isinstance(one, ast.Field)
            and isinstance(one.operand, ast.Word | ast.Wildcard)
            and not (one.name in fields or canonical(one.name) in _FIELD_NAMES)
        )
        for one in (node.operands if isinstance(node, ast.And) else (node,))
    )


def verbatim(text: str) -> ast.Node | None:
    """Return a search for words as they stand in a text; what has them so scores higher.

    Of a few plain words, nothing says that they belong together. A path is looked for in the joined forms of paths.
    """
    parts = analysis.parts(text)
    if not 1 < len(parts) <= MAX_PHRASE:
        return None
    words = text.split()
    if len(words) == 1 and len(analysis.chunks(analysis.normalize(text))) == 1:
        return ast.Wildcard(f"*{escape(analysis.joined(parts))}*") if "/" in text else None
    is_text = len(words) > WORDS_PER_SIGN or words[0] in COMMANDS or _is_command(text) or _is_shouted(text)
    return ast.Phrase(text) if is_text or _SYMBOL.search(text) else None


def _is_command(text: str) -> bool:
    """Return whether a text begins like a shell command: a prompt, a known command, or a word that has an option."""
    found = _PROMPT.fullmatch(text)
    if not found:
        return False
    name, rest = found["name"], found["rest"]
    if name in COMMANDS and (len(rest.split()) > 1 or _SIGNS.search(rest)):
        return True
    option = _OPTION if _NAME.fullmatch(name) else _DASH if _PATH.fullmatch(name) else None
    return option is not None and bool(found["prompt"] or option.search(rest))


def _is_shouted(text: str, least: int = 3) -> bool:
    """Return whether a text is written in capitals alone and has at least ``least`` words: ``NOT`` is one of them."""
    return text.isupper() and len(text.split()) >= least


def _is_running_text(text: str) -> bool:
    """Return whether plain words outweigh what could be signs of the language."""
    words = [word for word in text[:MAX_CHARS].split() if word.strip("*?")]
    signs = sum(bool(_SIGN.match(word)) for word in words)
    return len(words) - signs > WORDS_PER_SIGN * (1 + signs)
