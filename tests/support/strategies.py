"""Hypothesis strategies for items and spaces whose words collide on purpose, and the files that hold such items.

An item drawn here equals what :func:`rye.items.reader.parse` reads from the file that :func:`as_file` writes of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from hypothesis import strategies as st

from rye.items.model import Item, ItemId, ItemType, Section, Symbol
from tests.support.naive_docs import NaiveDoc

WORDS = (
    # inflections
    *("sign", "signs", "signed", "signing", "signal"),
    *("thread", "threads", "threaded", "orchestrator", "orchestrators", "create", "created", "creating"),
    # one word or two
    *("file", "files", "system", "systems", "filesystem", "file-system", "fileSystem", "File_System", "file/system"),
    *("HTTPServer", "http-server", "rye/core", "rye/file-system/read", "read", "core"),
    # one or two edits apart
    *("directive", "direcive", "directives", "deploy", "depoly", "fire", "tread"),
    # short, and easily taken for something else
    *("a", "I", "is", "it", "api", "mcp", "not", "or", "to", "e.g.", "don't", "C++"),
    # digits
    *("2.0", "1.0.0-beta", "v2", "v2Beta", "sha256", "42"),
    # the same in other letters
    *("café", "cafe\u0301", "cafe", "ﬁle", "\uff26ile", "Straße", "strasse", "ωμέγα", "ΩΜΈΓΑ", "naïve"),
    *("ı\u015fık", "isik", "\u0130SIK"),
    # with characters that nobody sees
    *("thre\u00adad", "sig\u200bned", "\u2060file", "file\u2060-system", "cafe\u200b\u0301", "备\u200b份"),
    # no blanks between words
    *(
        "数据库",
        "数据库备份指南",
        "据库",
        "备份",
        "备份和恢复",
        "数据苦",
        "gpt模型",
        "データベース",
        "สำรองข้อมูล",
        "ข้อมูล",
        "백업을",
    ),
)
"""Words of texts, chosen so that many share a stem, parts, a joined form, an edit, or a folded form."""

IDS = (
    "read",
    "deploy",
    "rye/core/read",
    "rye/core/sign-file",
    "rye/corex/read",
    "rye/file-system/write",
    "threads/orchestrator",
    "ops/v2.0/run",
    "ops/Deploy",
    "café/menu",
)
"""Ids of items: names and folders recur, and one folder begins like another."""

VERSIONS = ("0.9", "1.0.0-beta", "1.0.0-beta.2", "1.0.0", "1.0", "v1.2", "1.10", "2.0.0+build", "latest")
DATES = (
    "2025",
    "2025-12-31",
    "2026-01",
    "2026-01-31T23:30:00-05:00",
    "2026-02-01",
    "2026-02-18T10:00:00Z",
    "2026-02-18T10:00:00+02:00",
    "2026-02-28T23:59:59Z",
    "2026-03",
    "soon",
)
AUTHORS = ("Ada", "ada", "Grace Hopper", "STRASSE")
SOURCES = ("project", "user", "system:alpha", "system:beta")
VERDICTS = ("trusted", "untrusted", "partial", "misplaced", "tampered", "unsigned")
SIGNERS = ("", "ab" * 32, "cd" * 32)
SYMBOLS = ("read", "sign_file", "fileSystem", "Thread", "create_threads")

METADATA: Mapping[str, tuple[Any, ...]] = {
    "entry_type": ("reference", "Reference", "guide"),
    "priority": (1, 2, 10, 2.5, "10", "high"),
    "flag": (True, False),
    "min_version": ("1.0", "1.0.0-beta", "2", "none"),
    "reviewed_at": ("2026-01", "2026-02-18", "never"),
    "runtime": ({"kind": "python", "level": 3}, {"kind": "bash", "tags": ["a", "b"]}, {"kind": None}),
    "uses": (["read", "deploy"], ["Read"], []),
    "status": ("active", "superseded", "Deprecated", "active", "active"),
    "deprecated": (True, False, False),
    "yanked": (True, False, False, False),
    "superseded_by": ("read", "", []),
}
"""Metadata that an item has beside its own fields, each key with values of several kinds."""


TOPIC = st.shared(st.lists(st.sampled_from(WORDS), min_size=3, max_size=8, unique=True), key="topic")
"""The few words that the texts and the query of one example are about, so that they meet."""


@st.composite
def texts(draw: st.DrawFn, *, least: int = 1, most: int = 8) -> str:
    """Draw words with blanks or commas between; on one line, and nothing that Markdown or YAML would take apart."""
    words = draw(st.lists(st.sampled_from(draw(TOPIC)), min_size=least, max_size=most))
    return (", " if draw(st.booleans()) else " ").join(words)


@st.composite
def metadata(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the metadata block of a file: what an item has fields for, and other keys; each may be missing."""
    optional: dict[str, st.SearchStrategy[Any]] = {
        "title": texts(most=4),
        "description": texts(most=6),
        "category": st.sampled_from(["core", "rye/core", "file-system", "agents"]),
        "version": st.sampled_from(VERSIONS),
        "tags": st.lists(texts(most=2), min_size=1, max_size=3).map(lambda tags: list(dict.fromkeys(tags))),
        "author": st.sampled_from(AUTHORS),
        draw(st.sampled_from(["created", "created_at"])): st.sampled_from(DATES),
        draw(st.sampled_from(["updated", "updated_at"])): st.sampled_from(DATES),
    }
    own = draw(st.sets(st.sampled_from(sorted(optional)), max_size=5))
    other = draw(st.sets(st.sampled_from(sorted(METADATA)), max_size=3))
    return {key: draw(optional[key]) for key in sorted(own)} | {
        key: draw(st.sampled_from(METADATA[key])) for key in sorted(other)
    }


def items() -> st.SearchStrategy[Item]:
    """Draw an item of any type."""
    return st.one_of(markdown_items(), yaml_tools(), python_tools())


@st.composite
def markdown_items(draw: st.DrawFn) -> Item:
    """Draw a knowledge entry or a directive: a metadata fence, then paragraphs and headings."""
    item_type = draw(st.sampled_from([ItemType.DIRECTIVE, ItemType.KNOWLEDGE]))
    meta = draw(metadata())
    headings = st.builds(lambda level, text: f"{'#' * level} {text}", st.integers(1, 3), texts(most=3))
    blocks = draw(st.lists(st.one_of(texts(), texts(), headings), max_size=5))
    first_line = len(_fence(meta).splitlines()) + 1 if blocks else 1
    paragraphs = [block for block in blocks if not block.startswith("#")]
    return _item(
        item_type,
        draw(st.sampled_from(IDS)),
        meta,
        body="\n\n".join(blocks),
        body_line=first_line,
        sections=_sections(blocks, first_line),
        heading=next((block[2:] for block in blocks if block.startswith("# ")), ""),
        paragraph=paragraphs[0] if paragraphs else "",
    )


@st.composite
def yaml_tools(draw: st.DrawFn) -> Item:
    """Draw a tool that is data: a comment, then its metadata; the text of it all is its body."""
    meta = draw(metadata())
    comment = draw(texts(most=5))
    body = f"# {comment}\n{_yaml(meta)}".rstrip()
    return _item(ItemType.TOOL, draw(st.sampled_from(IDS)), meta, body=body, paragraph=comment)


@st.composite
def python_tools(draw: st.DrawFn) -> Item:
    """Draw a tool that is code: a docstring, dunders, functions and a class; the text of it all is its body."""
    meta = draw(metadata())
    docstring = draw(texts(most=5))
    names = draw(st.lists(st.sampled_from(SYMBOLS), max_size=3, unique=True))
    lines = [f'"""{docstring}."""', *(f"__{key}__ = {value!r}" for key, value in meta.items())]
    symbols = []
    for name in names:
        number = len(lines) + 1
        if name[0].isupper():
            lines += [f"class {name}:", "    def run(self): ..."]
            symbols += [
                Symbol(name, "class", number, number + 1, f"class {name}"),
                Symbol(f"{name}.run", "method", number + 1, number + 1, "def run(self)"),
            ]
        else:
            lines += [f"def {name}():", f"    return {draw(texts(most=1))!r}"]
            symbols.append(Symbol(name, "function", number, number + 1, f"def {name}()"))
    return _item(
        ItemType.TOOL,
        draw(st.sampled_from(IDS)),
        meta,
        body="\n".join(lines),
        symbols=tuple(symbols),
        paragraph=f"{docstring}.",
    )


def _item(
    item_type: ItemType, item_id: str, meta: dict[str, Any], *, heading: str = "", paragraph: str = "", **parts: Any
) -> Item:
    """Make the item whose file states this metadata."""
    folder, _, name = item_id.rpartition("/")
    declared = {"category": meta["category"]} if "category" in meta else {}
    return Item(
        type=item_type,
        id=ItemId(item_id),
        name=name,
        title=meta.get("title", heading),
        description=meta.get("description", paragraph),
        category=meta.get("category", folder),
        version=meta.get("version", ""),
        tags=tuple(meta.get("tags", ())),
        author=meta.get("author", ""),
        created=meta.get("created") or meta.get("created_at", ""),
        updated=meta.get("updated") or meta.get("updated_at", ""),
        metadata=MappingProxyType(meta),
        declared=MappingProxyType(declared),
        **parts,
    )


def _sections(blocks: Sequence[str], first_line: int) -> tuple[Section, ...]:
    """Return the sections of blocks of one line each, with one blank line between."""
    sections: list[Section] = []
    own: list[str] = []
    path: list[tuple[int, str]] = []
    line = first_line
    start = place = 0
    for number, block in enumerate([*blocks, "#"]):
        if not block.startswith("#"):
            own.append(block)
            place += len(block) + 2
            continue
        if path or own:
            level = path[-1][0] if path else 0
            span = 2 * len(own) if path else 2 * len(own) - 2
            text = "\n\n".join(own)
            end = place - 2 + (not own and number < len(blocks))  # a heading alone ends behind its line break
            names = tuple(name for _, name in path)
            sections.append(Section(names, level, line, line + span, text, start, (end - len(text), end)))
        marks, _, text = block.partition(" ")
        path = [*(outer for outer in path if outer[0] < len(marks)), (len(marks), text)]
        line = first_line + 2 * number
        start, place, own = place, place + len(block) + 2, []
    return tuple(sections)


def _yaml(meta: Mapping[str, Any]) -> str:
    """Write metadata as YAML whose values are JSON."""
    return "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in meta.items())


def _fence(meta: Mapping[str, Any]) -> str:
    return f"```yaml\n{_yaml(meta)}```\n\n" if meta else ""


def as_file(item: Item) -> tuple[str, bytes]:
    """Return the path below the space root, and the content, of a file that holds an item drawn here."""
    if item.type is not ItemType.TOOL:
        suffix, text = ".md", _fence(item.metadata) + item.body
    else:
        suffix, text = ".py" if item.body.startswith('"""') else ".yaml", item.body
    return f"{item.type.folder}/{item.id}{suffix}", f"{text}\n".encode()


@st.composite
def docs(
    draw: st.DrawFn, *, most: int = 8, sources: Sequence[str] = SOURCES, verdicts: Sequence[str] = VERDICTS
) -> list[NaiveDoc]:
    """Draw items in their spaces, spaces in order of priority: an id may recur in another space, not in the same."""
    found: dict[tuple[str, str, str], NaiveDoc] = {}
    least = draw(st.sampled_from([0, most // 2, most]))
    for item in draw(st.lists(items(), min_size=least, max_size=most)):
        source = draw(st.sampled_from(sources))
        verdict = draw(st.sampled_from(verdicts))
        found[source, item.type, item.id] = NaiveDoc(
            item,
            source,
            f"/{source.replace(':', '/')}/{as_file(item)[0]}",
            bundle=source.partition(":")[2],
            verdict=verdict,
            signer="" if verdict == "unsigned" else draw(st.sampled_from(SIGNERS)),
        )
    return sorted(found.values(), key=lambda doc: sources.index(doc.source))
