"""The engines that rye is measured beside, each used as its documentation says, on the same texts.

All cut text at what is no letter or digit and put it in lower case. They stem nothing and have no joined forms, so they
find and rank a little less than rye does. By default the whole text of an item is one column, which is the least work;
with ``columns`` each field is a column of its own, and an unfielded query asks them all.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rye.items.model import Item
from tests.benchmarks.asking import COLUMNS, DISTANCE, Query, values_of
from tests.benchmarks.engine import Answer, Ask, Engine

Row = tuple[int, str, tuple[str, ...]]
"""Number of an item, its type, and its text by column."""

WORDS = r"[^\W_]+"
"""What a word is."""

SEPARATOR = "zzz"
"""Stands between two fields in one column, so that no phrase spans them."""


class Peer:
    """What the peers have in common."""

    name = ""

    def __init__(self, *, columns: bool = False) -> None:
        self.columns = COLUMNS if columns else ("text",)
        self.lacks: dict[str, str] = {}

    def prepare(self, items: Sequence[Item]) -> list[Row]:
        """Return the rows of a table."""
        rows = []
        for number, item in enumerate(items):
            texts = values_of(item)
            whole = texts if len(self.columns) > 1 else (f" {SEPARATOR} ".join(texts),)
            rows.append((number, str(item.type), whole))
        return rows


class Fts5(Peer):
    """SQLite's full-text index, without a copy of the text; a table beside it holds what is filtered by."""

    name = "FTS5"
    _holds = ", content=''"
    _row = "docs.rowid"

    def __init__(self, *, columns: bool = False) -> None:
        super().__init__(columns=columns)
        self.lacks = {"infix": "no dictionary scan (only a trigram index)", "fuzzy": "none"}

    def build(self, rows: list[Row], folder: Path) -> None:
        """Fill both tables in one transaction."""
        names = ", ".join(self.columns)
        with closing(sqlite3.connect(folder / "index.db")) as base, base:
            base.execute("CREATE TABLE kinds (id INTEGER PRIMARY KEY, type TEXT)")
            base.execute(f"CREATE VIRTUAL TABLE docs USING fts5({names}{self._holds}, detail=full)")
            base.executemany("INSERT INTO kinds VALUES (?, ?)", ((number, kind) for number, kind, _ in rows))
            marks = ", ?" * len(self.columns)
            insert = f"INSERT INTO docs (rowid, {names}) VALUES (?{marks})"  # noqa: S608 - our own column names
            base.executemany(insert, ((number, *texts) for number, _, texts in rows))

    def open(self, folder: Path) -> Ask:
        """Return what counts the matches, then ranks them."""
        base = sqlite3.connect(folder / "index.db")
        plain = "docs WHERE docs MATCH ?"
        joined = "docs JOIN kinds ON id = docs.rowid WHERE docs MATCH ? AND type = ?"

        def ask(query: Query) -> Answer:
            source, given = (joined, (self.text_of(query), query.item_type)) if query.item_type else (
                plain, (self.text_of(query),)
            )  # fmt: skip
            count = f"SELECT count(*) FROM {source}"  # noqa: S608 - one of the two above
            page = f"SELECT {self._row} FROM {source} ORDER BY rank LIMIT 10 OFFSET ?"  # noqa: S608 - as above
            total = base.execute(count, given).fetchone()[0]
            return Answer(total, tuple(row[0] for row in base.execute(page, (*given, query.offset))))

        return ask

    def text_of(self, query: Query) -> str:
        """Return a query in the language of FTS5."""
        quoted = [f'"{word}"' for word in query.words]
        match query.kind:
            case "or3" | "sentence":  # of a sentence, most words are enough for rye, and one is misspelt
                return " OR ".join(quoted)
            case "phrase":
                return " + ".join(quoted)
            case "near":
                return f"NEAR({' '.join(quoted)}, {DISTANCE - 1})"
            case "prefix":
                return f"{quoted[0]} *"
            case _:
                return " AND ".join(quoted)


class Fts5Previews(Fts5):
    """The same with a copy of the text, and for each hit of the page the best 32 words with the matches marked."""

    name = "FTS5 with snippets"
    _holds = ""
    _row = "docs.rowid, snippet(docs, -1, '[', ']', '…', 32)"


class Whoosh(Peer):
    """Plain Whoosh with its own codec, on one processor."""

    name = "Whoosh"

    def build(self, rows: list[Row], folder: Path) -> None:
        """Write one segment with 512 MB of memory to sort in."""
        from whoosh import analysis, fields, index

        words = analysis.RegexTokenizer(WORDS) | analysis.LowercaseFilter()
        text = {name: fields.TEXT(analyzer=words, phrase=True) for name in self.columns}
        schema = fields.Schema(number=fields.STORED(), type=fields.ID(), **text)
        writer = index.create_in(str(folder), schema).writer(limitmb=512)
        for number, kind, texts in rows:
            writer.add_document(number=number, type=kind, **dict(zip(self.columns, texts, strict=True)))
        writer.commit()

    def open(self, folder: Path) -> Ask:
        """Return what searches with Whoosh's own searcher, which stays open."""
        from whoosh import index
        from whoosh import query as ways

        searcher = index.open_dir(str(folder)).searcher()

        def ask(query: Query) -> Answer:
            inside = ways.Term("type", query.item_type) if query.item_type else None
            found = searcher.search(self.node_of(query), limit=query.offset + 10, filter=inside)
            page = [found.docnum(at) for at in range(query.offset, min(query.offset + 10, found.scored_length()))]
            return Answer(len(found), tuple(page))

        return ask

    def node_of(self, query: Query) -> Any:
        """Return a query as Whoosh's objects."""
        from whoosh import query as ways
        from whoosh.query.spans import SpanNear

        def anywhere(make: Any) -> Any:
            nodes = [make(name) for name in self.columns]
            return nodes[0] if len(nodes) == 1 else ways.Or(nodes)

        words = query.words
        terms = [anywhere(lambda name, word=word: ways.Term(name, word)) for word in words]
        match query.kind:
            case "or3":
                return ways.Or(terms)
            case "phrase":
                return anywhere(lambda name: ways.Phrase(name, list(words)))
            case "near":
                return anywhere(
                    lambda name: SpanNear(
                        ways.Term(name, words[0]), ways.Term(name, words[1]), slop=DISTANCE, ordered=False
                    )
                )
            case "prefix":
                return anywhere(lambda name: ways.Prefix(name, words[0]))
            case "infix":
                return anywhere(lambda name: ways.Wildcard(name, f"*{words[0]}*"))
            case "fuzzy":
                return anywhere(lambda name: ways.FuzzyTerm(name, words[0], maxdist=2, prefixlength=0))
            case _:
                return terms[0] if len(terms) == 1 else ways.And(terms)


class Tantivy(Peer):
    """tantivy through its Python binding: one thread, default memory."""

    name = "tantivy"

    def _schema(self) -> Any:
        import tantivy

        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field("number", stored=True)
        builder.add_text_field("type", tokenizer_name="raw", index_option="basic")
        for name in self.columns:
            builder.add_text_field(name)
        return builder.build()

    def build(self, rows: list[Row], folder: Path) -> None:
        """Write and wait until merging is done."""
        import tantivy

        writer = tantivy.Index(self._schema(), path=str(folder)).writer(num_threads=1)
        for number, kind, texts in rows:
            document = tantivy.Document(number=number, type=kind)
            for name, text in zip(self.columns, texts, strict=True):
                document.add_text(name, text)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()

    def open(self, folder: Path) -> Ask:
        """Return what searches and counts at once."""
        import tantivy

        index = tantivy.Index.open(str(folder))
        searcher: Any = index.searcher()

        def ask(query: Query) -> Answer:
            node = self.node_of(index.schema, query)
            found = searcher.search(node, limit=10, offset=query.offset, count=True)
            page = tuple((address.segment_ord << 32) | address.doc for _, address in found.hits)
            return Answer(found.count, page)

        return ask

    def node_of(self, schema: Any, query: Query) -> Any:
        """Return a query as tantivy's objects; NEAR becomes a phrase with slop, the nearest there is."""
        from tantivy import Occur
        from tantivy import Query as Way

        def anywhere(make: Any) -> Any:
            nodes = [make(name) for name in self.columns]
            return nodes[0] if len(nodes) == 1 else Way.boolean_query([(Occur.Should, node) for node in nodes])

        words = query.words
        terms = [anywhere(lambda name, word=word: Way.term_query(schema, name, word)) for word in words]
        match query.kind:
            case "or3":
                return Way.boolean_query([(Occur.Should, term) for term in terms])
            case "phrase":
                return anywhere(lambda name: Way.phrase_query(schema, name, list(words)))
            case "near":
                return anywhere(lambda name: Way.phrase_query(schema, name, list(words), slop=DISTANCE))
            case "prefix":
                return anywhere(lambda name: Way.regex_query(schema, name, f"{re.escape(words[0])}.*"))
            case "infix":
                return anywhere(lambda name: Way.regex_query(schema, name, f".*{re.escape(words[0])}.*"))
            case "fuzzy":
                return anywhere(
                    lambda name: Way.fuzzy_term_query(schema, name, words[0], 2, transposition_cost_one=False)
                )
        if query.item_type:
            terms.append(Way.const_score_query(Way.term_query(schema, "type", query.item_type), 0.0))
        return terms[0] if len(terms) == 1 else Way.boolean_query([(Occur.Must, term) for term in terms])


class Bm25s(Peer):
    """bm25s with its numpy backend: scores of bags of words; it has one column and knows no other kind of query."""

    name = "bm25s"

    def __init__(self, *, columns: bool = False) -> None:
        super().__init__()
        del columns
        words_only = "bags of words only"
        self.lacks = dict.fromkeys(("and", "phrase", "near", "prefix", "infix", "fuzzy"), words_only)

    def build(self, rows: list[Row], folder: Path) -> None:
        """Tokenize, score and save."""
        import bm25s

        texts = [texts[0] for _, _, texts in rows]
        tokens = bm25s.tokenize(texts, stopwords=[], token_pattern=WORDS, show_progress=False)
        retriever = bm25s.BM25()
        retriever.index(tokens, show_progress=False)
        retriever.save(str(folder))
        kinds = sorted({kind for _, kind, _ in rows})
        np.save(folder / "types.npy", np.asarray([kinds.index(kind) for _, kind, _ in rows], np.uint8))
        (folder / "types.txt").write_text("\n".join(kinds), encoding="utf-8")

    def open(self, folder: Path) -> Ask:
        """Return what scores every item, counts those above zero and takes the best."""
        import bm25s

        retriever = bm25s.BM25.load(str(folder), mmap=True)
        types, kinds = np.load(folder / "types.npy"), (folder / "types.txt").read_text(encoding="utf-8").split("\n")

        def ask(query: Query) -> Answer:
            mask = (types == kinds.index(query.item_type)).astype(np.float32) if query.item_type else None
            scores = retriever.get_scores(list(query.words), weight_mask=mask)
            total, wanted = int(np.count_nonzero(scores > 0)), min(query.offset + 10, len(scores))
            best = np.argpartition(scores, len(scores) - wanted)[-wanted:]
            best = best[np.argsort(-scores[best])][query.offset :]
            return Answer(total, tuple(best[scores[best] > 0].tolist()))

        return ask


MODULES = {"Whoosh": "whoosh", "FTS5": "sqlite3", "tantivy": "tantivy", "bm25s": "bm25s"}
"""Peer → the module it needs."""


def peers(*, columns: bool = False) -> list[Engine]:
    """Return the peers that are installed."""
    every: tuple[Engine, ...] = tuple(make(columns=columns) for make in (Whoosh, Fts5, Tantivy, Bm25s))
    return [engine for engine in every if find_spec(MODULES[engine.name])]
