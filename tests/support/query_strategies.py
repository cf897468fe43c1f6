"""Hypothesis strategies for queries of every kind, and for whole searches: spaces, a query, and what goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from rye.query import ast
from tests.support.naive import NaiveDoc, NaiveOptions
from tests.support.naive_docs import ALIASES, KEYWORD_FIELDS, WEIGHTS, read_corpus
from tests.support.naive_values import flatten
from tests.support.strategies import (
    AUTHORS,
    DATES,
    METADATA,
    SIGNERS,
    SOURCES,
    TOPIC,
    VERDICTS,
    VERSIONS,
    WORDS,
    docs,
    texts,
)

ASKED = (*WORDS, "orchestrater", "systm", "thre", "filesys", "deployment", "signin", "unheard", "rye/core/read")
"""Words of queries: those of texts, and some that no text has."""

PATTERNS = (
    *("file*", "*file", "*thread*", "fi?e", "s*n", "*ing", "SIGN??", "c*", "v?", "*0*"),
    *("file-*", "*-system", "file*-sys*", "rye/*/read", "?ead", "caf?", "stra*e", "1.*"),
)
STATES = (*VERDICTS, "signed", "shadowed", "shadowing", "superseded", "deprecated")
TEXT_FIELDS = (*WEIGHTS, *(alias for alias, field in ALIASES.items() if field in WEIGHTS))
SCOPES = (
    *("*", "tool", "knowledge", "directive", "directive.*", "rye.search.*"),
    *("tool.rye.core.*", "rye.search.tool.rye.core.*", "knowledge.rye.*"),
    *("tool,knowledge.rye.core.*", "tool, directive"),
)
READABLE_VERSIONS = tuple(version for version in VERSIONS if version != "latest")
READABLE_DATES = tuple(date for date in DATES if date != "soon")
BOOSTED = (ast.Word, ast.Wildcard, ast.Fuzzy, ast.Phrase, ast.Near, ast.Field, ast.And, ast.Or)
OPERATORS = (">=", "<=", ">", "<")


@dataclass(frozen=True, slots=True)
class Case:
    """One search: the items there are, the query, and everything else that is asked."""

    docs: Sequence[NaiveDoc]
    query: ast.Node
    options: NaiveOptions


@st.composite
def words(draw: st.DrawFn) -> ast.Node:
    """Draw one word, mostly one that the texts have."""
    return ast.Word(draw(st.sampled_from([*draw(TOPIC) * 3, draw(st.sampled_from(ASKED))])))


@st.composite
def bags_of_words(draw: st.DrawFn) -> ast.Node:
    """Draw what people type: a few words or a sentence; some lack a letter, are cut short, run on or in capitals."""
    found = []
    topic = draw(TOPIC)
    for text in draw(st.lists(st.sampled_from(topic), min_size=1, max_size=draw(st.sampled_from([4, 4, 8])))):
        slips = ["", "", "", "missing", "cut", "run on", "loud"]
        slip = draw(st.sampled_from(slips)) if len(text) > 4 and text.isalpha() else ""
        place = draw(st.integers(1, len(text) - 2)) if slip == "missing" else 0
        forms = {"": text, "missing": text[:place] + text[place + 1 :], "cut": text[1:-2], "loud": text.upper()}
        found.append(forms.get(slip, text + draw(st.sampled_from(topic))))
    return group(ast.And, [*map(ast.Word, found), *draw(st.sampled_from([[], [], [draw(words())]]))])


@st.composite
def references(draw: st.DrawFn, found: Sequence[NaiveDoc]) -> str:
    """Draw how people write the reference to one of some items, or to one that is not there."""
    kind, name = draw(st.sampled_from([("tool", "rye/core/none"), *((doc.item.type, doc.item.id) for doc in found)]))
    folder = {"tool": "tools/", "directive": "directives/"}.get(kind, "knowledge/")
    before = draw(st.sampled_from(["", "", f"@{kind}:", "@", folder, f".ai/{folder}", f"/home/me/.ai/{folder}"]))
    ends = ["", ".py", ".md", ".yaml", "#part", ".py#part", ".", ":5", ".md:5:10", ".py:5-10", ".py,"]
    left, right = draw(st.sampled_from([("", ""), ("`", "`"), ("'", "'."), ("<", ">")]))
    return left + before + name + draw(st.sampled_from(ends)) + right


@st.composite
def pasted(draw: st.DrawFn) -> str:
    """Draw what people paste: commands with options, addresses, paths, running text, lone marks, unseen characters."""
    word = st.sampled_from([text for text in (*draw(TOPIC), *draw(TOPIC)) if text.isalnum() or "/" in text])
    few = [draw(word) for _ in range(draw(st.integers(1, 7)))]
    shape = draw(st.sampled_from(["command", "address", "path", "marks", "unseen", "quoted", "capitals"]))
    if shape == "command":
        begins = ["pip install", "docker run", "$ read", "git", "FORCE=1 sudo make", '"$HOME/bin"', "./read", few[0]]
        begin = draw(st.sampled_from(begins))
        options = st.sampled_from(["-r", "-it", "--rm", "--name=x", "-rf", "--", "-", "-version", "-file", "*.py"])
        few = [begin, *(each for text in few for each in ([draw(options), text] if draw(st.booleans()) else [text]))]
    elif shape == "address":
        address = "https://" + "/".join(few[:3]) + draw(st.sampled_from(["", "/a?x=1&y=2", "?file=read#it", "/?*"]))
        few = [*few[3:], address]
    elif shape == "capitals":
        few = " ".join([few[0], "NOT", *few[1:4]]).upper().split()
    elif shape == "path":
        few = ["/".join(few[:3]) + draw(st.sampled_from(["", "/*.py", ".py:12", "/", "/**/read"])), *few[3:]]
    elif shape == "marks":
        few.insert(
            draw(st.integers(0, len(few))), draw(st.sampled_from(["—", "-", "→", ".", "•", "|", "--", "🙂", "="]))
        )
    elif shape == "unseen":
        at, unseen = (
            draw(st.integers(0, len(few[-1]))),
            draw(st.sampled_from("\u00ad\u180e\u200b\u200c\u200d\u2063\ufeff")),
        )
        few[-1] = few[-1][:at] + unseen + few[-1][at:]
    else:
        odd = [
            '"""',
            "AND",
            "NEAR/5",
            "-x",
            "it's",
            "(see",
            "main()",
            '19"',
            "a~b",
            "~5",
            "()",
            "localhost:80",
            "C:\\read",
        ]
        few = [draw(st.sampled_from(odd)), *few][: draw(st.integers(1, 8))]
    return " ".join(few)


def group(kind: type[ast.And | ast.Or], operands: Sequence[ast.Node]) -> ast.Node:
    """Return a flat group, or its only operand."""
    flat: list[ast.Node] = []
    for operand in operands:
        flat += operand.operands if isinstance(operand, kind) else (operand,)
    return kind(tuple(flat)) if len(flat) > 1 else flat[0]


@st.composite
def simple_leaves(draw: st.DrawFn) -> ast.Node:
    """Draw a leaf that may stand in a NEAR."""
    kind = draw(st.sampled_from([ast.Word, ast.Word, ast.Wildcard, ast.Fuzzy, ast.Phrase]))
    if kind is ast.Wildcard:
        return ast.Wildcard(draw(st.sampled_from(PATTERNS)))
    if kind is ast.Fuzzy:
        word = draw(words())
        assert isinstance(word, ast.Word)
        return ast.Fuzzy(word.text, draw(st.sampled_from([None, None, 0, 1, 2])))
    return ast.Phrase(draw(texts(most=3))) if kind is ast.Phrase else draw(words())


@st.composite
def chains(draw: st.DrawFn) -> ast.Node:
    """Draw a chain of two or three operands, each a leaf or a choice of leaves."""
    operands = []
    for _ in range(draw(st.integers(2, 3))):
        choices = draw(st.lists(simple_leaves(), min_size=1, max_size=draw(st.sampled_from([1, 1, 3]))))
        operands.append(group(ast.Or, choices))
    distances = [draw(st.integers(1, 6)) for _ in operands[1:]]
    return ast.Near(tuple(operands), tuple(distances))


@st.composite
def leaves(draw: st.DrawFn) -> ast.Node:
    """Draw any leaf of text."""
    kind = draw(st.sampled_from(["simple", "simple", "slop", "near"]))
    if kind == "slop":
        return ast.Phrase(draw(texts(least=2, most=4)), draw(st.integers(0, 4)))
    return draw(simple_leaves() if kind == "simple" else chains())


@st.composite
def fielded(draw: st.DrawFn) -> ast.Node:
    """Draw a leaf or a group bound to a text field."""
    operands = draw(st.lists(leaves(), min_size=1, max_size=draw(st.sampled_from([1, 1, 3]))))
    if len(operands) > 1:
        operands = [ast.Not(operand) if draw(st.integers(0, 4)) == 0 else operand for operand in operands]
    kind: type[ast.And | ast.Or] = ast.And if draw(st.booleans()) else ast.Or
    return ast.Field(draw(st.sampled_from(TEXT_FIELDS)), group(kind, operands))


@st.composite
def bounds(draw: st.DrawFn, name: str, values: Sequence[str]) -> ast.Node:
    """Draw a comparison or a range on one field."""
    if draw(st.booleans()):
        return ast.Compare(name, draw(st.sampled_from(OPERATORS)), draw(st.sampled_from(values)))
    low, high = (draw(st.sampled_from([None, *values])) for _ in "lh")
    return ast.Range(name, low, high, draw(st.booleans()), draw(st.booleans()))


@st.composite
def keyword_tests(draw: st.DrawFn, keys: Sequence[str]) -> ast.Node:
    """Draw a test of an exact field, or of one of these metadata keys."""
    bounded = BOUNDS | {key: ["2", "m", "read"] for key in keys if key not in BOUNDS}
    kind = draw(st.sampled_from(["value", "value", "wild", "bounds", "bounds", "exists"]))
    if kind == "wild":
        return ast.Field(*draw(st.sampled_from(WILD_VALUES)))
    if kind == "exists":
        return ast.Exists(draw(st.sampled_from(["author", "version", "updated", "bundle", "is", *TEXT_FIELDS, *keys])))
    if kind == "bounds":
        name = draw(st.sampled_from(["version", "created", "updated", *keys]))
        return draw(bounds(name, bounded[name]))
    name = draw(st.sampled_from([*EXACT_VALUES, "is", *(key for key in keys if key in KEY_VALUES)]))
    value = draw(st.sampled_from((EXACT_VALUES | KEY_VALUES)[name]))
    return ast.Field(name, ast.Phrase(value) if " " in value else ast.Word(value))


def _values_of_keys() -> dict[str, list[str]]:
    """Return the texts that each metadata key may have."""
    found: dict[str, set[str]] = {}
    for key, values in METADATA.items():
        for value in values:
            for name, flat in flatten({key: value}).items():
                found.setdefault(name, set()).update(flat)
    return {key: sorted(values) for key, values in found.items()}


KEY_VALUES = _values_of_keys()
BOUNDS: dict[str, Sequence[str]] = {
    "version": READABLE_VERSIONS,
    "created": READABLE_DATES,
    "updated": READABLE_DATES,
    "created_at": READABLE_DATES,
    "updated_at": READABLE_DATES,
    "min_version": ["1.0", "1.0.0-beta", "3"],
    "reviewed_at": ["2026", "2026-02"],
}
METADATA_KEYS = (set(KEY_VALUES) | set(BOUNDS)) - set(KEYWORD_FIELDS)
EXACT_VALUES: dict[str, Sequence[str]] = {
    "type": ["tool", "Knowledge", "directive"],
    "space": ["project", "user", "system"],
    "source": ["system"],
    "bundle": ["alpha"],
    "author": AUTHORS,
    "version": VERSIONS,
    "is": STATES,
    "signer": [signer for signer in SIGNERS if signer],
}
WILD_VALUES = [
    (name, ast.Wildcard(pattern))
    for name, pattern in [
        ("path", "*/tools/*"),
        ("path", "*.md"),
        ("path", "*core?read*"),
        ("author", "g*"),
        ("author", "A?A"),
        ("author", "*s*"),
        ("type", "*O*"),
        ("is", "*ed"),
    ]
]


@st.composite
def queries(draw: st.DrawFn, keys: Sequence[str] = (), *, depth: int = 3) -> ast.Node:
    """Draw a query of any shape over the fields every item has and these metadata keys."""
    shapes = ["leaf", "leaf", "field", "keyword", "everything", "and", "and", "or", "not", "boost"]
    shape = draw(st.sampled_from(shapes if depth else shapes[:5]))
    if shape in {"and", "or"}:
        inner = draw(st.lists(queries(keys, depth=depth - 1), min_size=2, max_size=3))
        return group(ast.And if shape == "and" else ast.Or, inner)
    if shape in {"not", "boost"}:
        operand = draw(queries(keys, depth=depth - 1))
        if shape == "not":
            return ast.Not(operand)
        return ast.Boost(operand, draw(st.sampled_from([0.5, 2.0, 3.0]))) if isinstance(operand, BOOSTED) else operand
    simple = {"leaf": leaves(), "field": fielded(), "keyword": keyword_tests(keys)}
    return draw(simple[shape]) if shape in simple else ast.Everything()


@st.composite
def options(draw: st.DrawFn, keys: Sequence[str] = ()) -> NaiveOptions:
    """Draw everything that is asked beside the query; mostly what is not asked."""
    rarely = st.integers(0, 6).map(lambda number: number == 6)
    found = NaiveOptions(
        scope=draw(st.sampled_from(SCOPES)) if draw(rarely) else "*",
        limit=draw(st.sampled_from([1000, 10, 3, 1])),
        offset=draw(st.sampled_from([1, 4])) if draw(rarely) else 0,
        sort_by=draw(st.sampled_from(["score", "score", "score", "name", "date"])),
        level=draw(st.sampled_from([1, 2])) if draw(rarely) else None,
        relax=not draw(rarely),
        include_superseded=not draw(rarely),
    )
    if draw(rarely):
        found = replace(found, filters=draw(filters(keys)))
    if draw(rarely):
        names = st.sampled_from([*TEXT_FIELDS, "category", "tags"])
        found = replace(found, fields=draw(st.dictionaries(names, bags_of_words(), min_size=1, max_size=2)))
    return found


def compared(values: Sequence[str]) -> st.SearchStrategy[str]:
    """Draw a filter that compares."""
    return st.builds(lambda operator, one: f"{operator}{one}", st.sampled_from(OPERATORS), st.sampled_from(values))


@st.composite
def filters(draw: st.DrawFn, keys: Sequence[str] = ()) -> dict[str, Any]:
    """Draw one or two filters."""
    categories = ["core", "rye/core", "File-System"]
    exact: dict[str, Sequence[Any]] = {
        "category": [*categories, *(f"!{one}" for one in categories), categories[:2]],
        "tags": ["File", "!file", ["sign", "read"]],
        "type": ["tool", "!tool", ["directive", "knowledge"]],
        "version": VERSIONS,
        "date_from": READABLE_DATES,
        "date_to": READABLE_DATES,
    }
    for key in keys:
        values = KEY_VALUES.get(key, DATES)
        exact[key] = [True, False] if key == "flag" else [*values, *(f"!{value}" for value in values)]
    found = {}
    for name in draw(st.lists(st.sampled_from(sorted(exact)), min_size=1, max_size=2, unique=True)):
        if name in {"version", *keys} and name != "flag" and draw(st.booleans()):
            found[name] = draw(compared(BOUNDS.get(name, KEY_VALUES.get(name, ()))))
        else:
            found[name] = draw(st.sampled_from(exact[name]))
    return found


@st.composite
def cases(
    draw: st.DrawFn, *, most: int = 8, sources: Sequence[str] = SOURCES, verdicts: Sequence[str] = VERDICTS
) -> Case:
    """Draw a whole search. The text it goes by is the query's canonical one; fields are those there are."""
    found = draw(docs(most=most, sources=sources, verdicts=verdicts))
    space = draw(st.sampled_from(["all"] * 6 + ["project", "user", "system"]))
    keys = sorted(read_corpus(found, space).metadata_keys & METADATA_KEYS)
    shapes = [queries(keys), queries(keys), queries(keys), bags_of_words()]
    if found:
        shapes.append(st.sampled_from([ast.Word(text) for doc in found for text in (str(doc.item.id), doc.item.name)]))
    query = draw(st.one_of(shapes))
    return Case(found, query, replace(draw(options(keys)), space=space, text=str(query)))
