"""The twin's reading of pasted text: which queries may be text, their words, and where they stand word for word."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from itertools import pairwise

from rye.query import ast, parse
from rye.search.pasted import COMMANDS
from tests.support.naive_analysis import can_be_searched, join, parts, raw_chunks, visible
from tests.support.naive_docs import ALIASES, KEYWORD_FIELDS, WEIGHTS
from tests.support.naive_leaves import is_name

SYMBOLS = "/\\:=$&|<>{}()[]"
"""Characters that few words of a query have where they are a path, a setting or code."""

FEW = 4
"""Words up to which a query is no running text."""


def as_text(text: str) -> ast.Node:
    """Return the words of a text, without any operator."""
    words = [ast.Word(visible(word)) for word in text.split() if can_be_searched(visible(word))]
    if len(words) > 1:
        return ast.And(tuple(words))
    return words[0] if words else ast.Everything()


def may_be_text(text: str) -> bool:
    """Tell whether a query that is an error may be text."""
    if is_command(text) or is_running_text(text) or is_shouted(text, 4):
        return True
    return "://" in text or '"""' in text or is_bare(text)


def is_bare(text: str) -> bool:
    """Tell whether an error is words alone when it is repaired, and had no operator but maybe a first one."""
    if ")~" in text or ")^" in text or any(is_name(word.lstrip("(")[1:2]) for word in text.split() if "!" in word[:1]):
        return False
    for word in text.split()[1:]:
        bare = word.lstrip("(")
        if bare in {"AND", "OR", "NOT", "NEAR", "&&"} or (bare.startswith("NEAR/") and is_name(bare[5:])):
            return False
    repaired = parse(text, lenient=True).ast
    operands = repaired.operands if isinstance(repaired, ast.And) else (repaired,)
    return all(isinstance(one, ast.Word | ast.Everything) for one in operands)


def is_misnamed(query: ast.Node, keys: Iterable[str]) -> bool:
    """Tell whether a query is words and values of fields, none of which is a field or a slip of one."""
    operands = query.operands if isinstance(query, ast.And) else (query,)
    fields = [one for one in operands if isinstance(one, ast.Field)]
    names = {*WEIGHTS, *KEYWORD_FIELDS, *ALIASES, "directive", "tool", "knowledge", *keys}
    like = [name for one in fields for name in names if SequenceMatcher(None, name, one.name.lower()).ratio() >= 0.7]
    values = [one.operand for one in fields]
    plain = all(isinstance(one, ast.Word | ast.Wildcard) for one in (*operands, *values) if one not in fields)
    return bool(fields) and plain and not like


def verbatim(text: str) -> ast.Node | None:
    """Return a search for a text as it stands; None where nothing says that its words belong together."""
    found = parts(text)
    if not 2 <= len(found) <= 256:
        return None
    words = text.split()
    if len(words) == 1 and len(list(raw_chunks(text))) == 1:
        return ast.Wildcard(f"*{join(found)}*") if "/" in text else None
    marked = any(character in SYMBOLS for character in text)
    return ast.Phrase(text) if marked or len(words) > FEW or words[0] in COMMANDS or is_command(text) else None


def is_shouted(text: str, least: int) -> bool:
    """Tell whether a text of some words has no small letter, but letters."""
    return text.upper() == text != text.lower() and len(text.split()) >= least


def is_command(text: str) -> bool:
    """Tell whether a text begins like a shell command."""
    words = text.split()
    prompt = len(words) > 1 and words[0] in {"$", "#", "%", ">"}
    words = words[prompt:]
    while len(words) > 1 and (words[0] == "sudo" or is_setting(words[0])):
        words = words[1:]
    name, rest = words[0] if words else "", words[1:]
    if name in COMMANDS and (len(rest) > 1 or not all(map(is_name, rest))):
        return True
    head, slash, tail = name.removeprefix('"').partition("/")
    variable = head.removeprefix("$").removeprefix("{").removesuffix("}")
    if slash and tail and (head in {"", ".", "..", "~"} or (head[:1] == "$" and is_name(variable))):
        return prompt or any(word[0] == "-" and is_name(word[1:2]) for word in rest)
    small = name[:1].isascii() and name[:1].islower() and len(name) > 1 and is_name(name.translate(NO_MARKS))
    return small and (prompt or any(map(is_option, rest)))


NO_MARKS = str.maketrans("", "", ".+-")


def is_setting(word: str) -> bool:
    """Tell whether a word sets a variable before a command."""
    name, equals, _ = word.partition("=")
    return bool(equals) and is_name(name) and name.isascii() and name == name.upper() and not name[0].isdigit()


def is_option(word: str) -> bool:
    """Tell whether a word is an option: one or two letters or digits after a dash, or a name after two."""
    if word.startswith("--"):
        name = word[2:].partition("=")[0]
        return name[:1].isascii() and name[:1].islower() and is_name(name.replace("-", ""))
    return word.startswith("-") and 1 <= len(word) - 1 <= 2 and word[1:].isalnum() and word.isascii()


def is_running_text(text: str) -> bool:
    """Tell whether a text has more than four plain words, and four more for each sign of the language."""
    words = [word for word in text.split() if word.strip("*?")]
    signs = len([word for word in words if is_sign(word)])
    return len(words) - signs > FEW * (1 + signs)


def is_sign(word: str) -> bool:
    """Tell whether a word could be an operator, or has one."""
    bare = word.lstrip("(")
    if bare in {"AND", "OR", "NOT", "NEAR"} or (bare.startswith("NEAR/") and is_name(bare[5:])):
        return True
    positive = bare.removeprefix("-")
    if positive != bare and is_name(positive[:1]):
        return True
    name, colon, value = positive.partition(":")
    known = {*WEIGHTS, *KEYWORD_FIELDS, *ALIASES, "directive", "tool", "knowledge"}
    if colon and (value[:1] in {"[", "{"} or (name in known and value and value[0] not in "/:")):
        return True
    stars = any(is_name(before) and after == "*" for before, after in pairwise(bare))
    end = bare.rstrip(")").rstrip("0123456789.")
    return stars or (bare[:1] == "*" and is_name(bare[1:2])) or (end[-1:] in {"~", "^"} and is_name(end[-2:-1]))
