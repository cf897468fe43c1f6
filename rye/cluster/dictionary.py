"""The dictionary of a generation while it is published: in how many items each word stands, changed by difference."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rye.cluster.bulk import Action, send
from rye.cluster.client import Cluster
from rye.cluster.documents import Word, word_id, words_of
from rye.cluster.faults import reading
from rye.cluster.generations import words_of as dictionary_of
from rye.index import analysis

_quoted = json.JSONEncoder().encode
_ASKED: Final = 10_000
_FULL: Final = 200


class Dictionary:
    """Collects how the counts of words change, and writes them.

    Args:
        cluster: The registry.
        index: The generation that is being made.
    """

    def __init__(self, cluster: Cluster, index: str) -> None:
        self._cluster = cluster
        self._items = index
        self._changes: dict[str, Word] = {}
        self._gone: dict[str, int] = {}

    def add(self, words: Mapping[str, Word]) -> None:
        """Count further items."""
        for word, (df, fields) in words.items():
            before = self._changes.get(word)
            self._changes[word] = Word(before.df + df, before.fields | fields) if before else Word(df, fields)

    def take_away(self, index: str, ids: Sequence[str]) -> None:
        """No longer count documents of the generation before; their fields stay noted, which is harmless."""
        for start in range(0, len(ids), _FULL):
            body = {"ids": list(ids[start : start + _FULL])}
            with self._cluster.faults(), reading():
                answer = self._cluster.client.mget(index=index, body=body, params={"_source_includes": "t_*"})
                for row in answer["docs"]:
                    fields = words_of(row["_source"]) if row["found"] else {}
                    self.add({word: Word(-1, 0) for word in fields})
                    self._gone |= {word: bits | self._gone.get(word, 0) for word, bits in fields.items()}

    def count_all(self) -> None:
        """Count all documents of the new generation, whoever owns them."""
        body: dict[str, Any] = {"size": _FULL, "sort": [{"mark": "asc"}], "_source": ["t_*"]}
        while True:
            answer = self._cluster.search(self._items, body)
            with self._cluster.faults(), reading():
                hits = answer["hits"]["hits"]
                for hit in hits:
                    self.add({word: Word(1, fields) for word, fields in words_of(hit["_source"]).items()})
                if len(hits) < _FULL:
                    return
                body["search_after"] = hits[-1]["sort"]

    def write(self, *, fresh: bool, before: int) -> int:
        """Write the changes; return how many words there are now.

        Args:
            fresh: Whether the dictionary is empty.
            before: How many words it has otherwise.
        """
        index, grown = dictionary_of(self._items), 0

        def actions() -> Iterator[Action]:
            nonlocal grown
            for action, change in self._fresh() if fresh else self._changed(index):
                grown += change
                yield action

        send(self._cluster, f"{index}-write", actions())
        with self._cluster.faults():
            self._cluster.client.indices.refresh(index=index)
        return grown + (0 if fresh else before)

    def _fresh(self) -> Iterator[tuple[Action, int]]:
        """Yield the documents of all words, each with 1: every word is new."""
        for word, count in self._changes.items():
            if count.df > 0:
                yield _document(word, count), 1

    def _changed(self, index: str) -> Iterator[tuple[Action, int]]:
        """Yield the documents of the words that change, each with the change in the number of words: 1, 0 or -1."""
        # a word that as many items have as before, in fields that it was in before, is not asked about
        words = [word for word, (df, fields) in self._changes.items() if df or fields & ~self._gone.get(word, 0)]
        for start in range(0, len(words), _ASKED):
            batch = words[start : start + _ASKED]
            there = self._there(index, list(map(word_id, batch)))
            for word in batch:
                known, change = there.get(word_id(word)), self._changes[word]
                before = known or Word(0, 0)
                now = Word(before.df + change.df, before.fields | change.fields)
                if now.df <= 0:
                    if known:
                        yield Action(word_id(word), None), -1
                elif now != known:
                    yield _document(word, now), 0 if known else 1

    def _there(self, index: str, ids: list[str]) -> dict[str, Word]:
        """Return what the dictionary has of some words."""
        body = {"query": {"ids": {"values": ids}}, "size": _ASKED, "_source": False, "sort": ["_doc"]}
        answer = self._cluster.search(index, body | {"docvalue_fields": ["df", "fields"]})
        with self._cluster.faults(), reading():
            rows = [(str(hit["_id"]), hit["fields"]) for hit in answer["hits"]["hits"]]
            return {name: Word(int(row["df"][0]), int(row["fields"][0])) for name, row in rows}


def _document(word: str, count: Word) -> Action:
    texts = f'"word":{_quoted(word)},"stem":{_quoted(analysis.stem(word))}'
    return Action(word_id(word), f'{{{texts},"df":{count.df},"fields":{count.fields}}}')
