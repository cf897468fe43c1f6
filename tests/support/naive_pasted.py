"""The twin's reading of pasted text: which queries may be text, their words, and where they stand word for word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import pairwise

from rye.items.model import Item
from rye.query import ast, parse
from rye.search.pasted import COMMANDS
from tests.support.naive_analysis import has_letter_or_digit, join, parts, raw_chunks, visible
from tests.support.naive_docs import ALIASES, KEYWORD_FIELDS, WEIGHTS

SYMBOLS = "/\\:=$&|<>{}()[]"
"""Characters that few words of a query have where they are a path, a setting or code."""

FEW = 4
"""Words up to which a query is no running text."""


def as_text(text: str) -> ast.Node:
    """Return the words of a text, without any operator."""
    words = [ast.Word(visible(word)) for word in text.split() if has_letter_or_digit(visible(word))]
    if len(words) > 1:
        return ast.And(tuple(words))
    return words[0] if words else ast.Everything()


def may_be_text(text: str, query: ast.Node | None) -> bool:
    """Tell whether a query may be text; ``query`` is what it says in the language, None where that is an error."""
    if is_command(text) or is_running_text(text, quotes=query is not None) or is_shouted(text, 4):
        return True
    if query is None:
        return "://" in text or '"""' in text or is_bare(text)
    operands = query.operands if isinstance(query, ast.And) else (query,)
    plain = all(isinstance(one, ast.Word | ast.Wildcard | ast.Phrase) for one in operands)
    return plain and any(is_address(one.pattern) for one in operands if isinstance(one, ast.Wildcard))


def may_be_verbatim(query: ast.Node) -> bool:
    """Tell whether a query has an exclusion or a wildcard, and nothing but words, phrases and these."""
    operands = query.operands if isinstance(query, ast.And) else (query,)
    positive = [one.operand if isinstance(one, ast.Not) else one for one in operands]
    marked = positive != list(operands) or any(isinstance(one, ast.Wildcard) for one in operands)
    return marked and all(isinstance(one, ast.Word | ast.Wildcard | ast.Phrase) for one in positive)


def has_marks(item: Item, text: str) -> bool:
    """Tell whether an item has the words of a text that would be operators: options, wildcards, what is in quotes."""
    there = visible(f"{item.title}\n{item.description}\n{item.body}")
    return all(stands_in(mark, there) for mark in marks(text))


def marks(text: str) -> Iterator[str]:
    """Yield the options of a text, its quotations, and its words with a wildcard."""
    at = 0
    while at < len(text):
        begins = at == 0 or text[at - 1].isspace()
        rest = text[at:]
        if begins and rest[0] == "-" and is_name(rest[1:2]):
            found = rest.split()[0]
            yield found
        elif rest[0] == '"' and '"' in rest[1:]:
            found = rest[: rest.index('"', 1) + 1]
            yield found
        elif rest[0].isspace() or rest[0] in "\"'":
            found = rest[0]
        else:
            found = rest.translate(TO_BLANKS).split()[0]
            if "*" in found or "?" in found:
                yield found
        at += len(found)


TO_BLANKS = str.maketrans("\"'", "  ")


def stands_in(word: str, text: str) -> bool:
    """Tell whether a text has a word that is no part of a longer one."""
    pieces = text.split(word)
    return any(
        not (is_name(left[-1:]) or left[-1:] == "-") and not is_name(right[:1]) for left, right in pairwise(pieces)
    )


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


def phrase_of(text: str) -> ast.Node | None:
    """Return the phrase of a text that is surely pasted."""
    surely = "://" in text or is_command(text) or is_running_text(text) or is_shouted(text, 3)
    return ast.Phrase(text) if surely and 2 <= len(parts(text)) <= 256 else None


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


def is_name(text: str) -> bool:
    """Tell whether a text is letters, digits and underscores."""
    return bool(text) and all(character.isalnum() or character == "_" for character in text)


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


def is_running_text(text: str, *, quotes: bool = True) -> bool:
    """Tell whether a text has more than four plain words, and four more for each sign of the language."""
    words = [word for word in text.split() if word.strip("*?")]
    signs = len([word for word in words if is_sign(word) or (quotes and '"' in word)])
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


def is_address(pattern: str) -> bool:
    """Tell whether a wildcard stands inside something that looks like an address or path."""
    inside = any(before in "*?" and after not in "*?" for before, after in pairwise(pattern))
    setting = "=" in pattern.strip("=")
    return inside and ("/" in pattern or setting or has_query(pattern))


def has_query(pattern: str) -> bool:
    """Tell whether a question mark follows the extension of a file."""
    heads = [piece.rpartition(".") for piece in pattern.split("?")[:-1]]
    return any(dot and is_name(name) for _, dot, name in heads)
