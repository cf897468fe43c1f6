"""The items that benchmarks search, any number of them, always the same: a seed fixes every byte.

Words follow Zipf's law over 30,000 forms: function words, stems with their inflections, identifiers in the styles of
programs. Words have partners that follow them more often than chance, so that phrases exist. Blocks are drawn apart,
so the first items of a larger corpus are those of a smaller one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.items.model import Item, ItemId, ItemType, Section, Symbol

SEED = 20_251
BLOCK = 1_000
SHORT, LONG = 40, 400
"""Mean words of a body."""

Ints = npt.NDArray[np.int64]

_FUNCTION_TEXT = (
    "the a to of and in is for on that it with as be by this are from or an at not can which if when must will "
    "has its all one each more then may than was into only"
)
_STEMS_TEXT = (
    "service deploy backup snapshot restore index query token signature key trust verify registry search file "
    "folder path process thread orchestrator schedule queue worker cluster node region network cache memory disk "
    "volume archive release version branch commit merge review test build pipeline artifact package container "
    "image secret password user account role permission policy audit log metric alert trace event message stream "
    "topic consumer producer database table column schema migration replica shard partition transaction lock "
    "session request response endpoint gateway proxy router balance limit quota retry timeout failure recover "
    "incident report dashboard template document section heading title category directive tool knowledge agent "
    "prompt model embed vector score rank filter range date number string array object parse render format encode "
    "decode encrypt sign hash digest compare update delete create list show describe explain check fix warn error "
    "debug profile measure monitor export import convert copy move rename link attach download upload publish "
    "subscribe notify approve rollback rotate renew expire revoke provision configure install remove start stop "
    "resume pause scale resize"
)
_ONSETS_TEXT = "b br c ch cl cr d dr f fl g gl gr h j k l m n p pl pr qu r s sc sh sk sl sp st str t th tr v w z"
_NUCLEI = ["a", "e", "i", "o", "u", "a", "e", "i", "o", "u", "ai", "ea"]
_FUNCTION, _STEMS, _ONSETS = _FUNCTION_TEXT.split(), _STEMS_TEXT.split(), _ONSETS_TEXT.split()
_CODAS = ("", "", "l", "m", "n", "r", "s", "t", "nd", "nt", "rk", "st", "x", "ck")
_STYLES = ("{0}_{1}", "{0}-{1}", "{0}{1:t}", "{0:t}{1:t}", "{0}.{1}", "{0}/{1}", "{0}_{1}-v2")
_AUTHORS = tuple(f"{name}.{role}" for name in ("ada", "alan", "barbara", "edsger", "grace") for role in ("ops", "dev"))


class _Word(str):
    """A word that can be formatted with a capital letter: ``{:t}``."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return self.capitalize() if spec == "t" else str(self)


def _stems(rng: np.random.Generator, wanted: int) -> list[str]:
    found = dict.fromkeys(_STEMS)
    while len(found) < wanted:
        syllables = 2 + int(rng.random() ** 2 * 2.5)
        sounds = [(rng.choice(_ONSETS), rng.choice(_NUCLEI), rng.choice(_CODAS)) for _ in range(syllables)]
        word = "".join(onset + nucleus + (coda if n == syllables - 1 else "") for n, (onset, nucleus, coda)
                       in enumerate(sounds))  # fmt: skip
        found.setdefault(word)
    return list(found)


def _forms(stem: str) -> tuple[str, ...]:
    base = stem.removesuffix("e")
    return (f"{stem}s", f"{base}ed", f"{base}ing")


class Vocabulary:
    """The words, most frequent first, and the chance of each.

    Attributes:
        words: All of them; ``functions`` many function words come first.
        stems: Words without inflection, by which items are named.
        partner: Shape ``(words,)``: the number of the word that likes to follow.
    """

    def __init__(self, size: int = 30_000) -> None:
        rng = np.random.default_rng(SEED)
        self.stems = _stems(rng, size // 3)
        ranked = [(float(place), stem) for place, stem in enumerate(self.stems)]
        for place, stem in enumerate(self.stems):
            ranked += [(place * 3 + 40 + 400 * rng.random(), form) for form in _forms(stem)[: int(rng.integers(0, 4))]]
        for place in range(size // 8):
            pair = (_Word(self.stems[int(rng.integers(0, 1_500))]) for _ in range(2))
            ranked.append((150 + place * 8.0, str(rng.choice(_STYLES)).format(*pair)))
        content = list(dict.fromkeys(word for _, word in sorted(ranked)))
        self.functions = len(_FUNCTION)
        self.words = [*_FUNCTION, *(word for word in content if word not in _FUNCTION)][:size]
        chances = 1.0 / (np.arange(len(self.words)) + 6.0) ** 1.05
        self.cumulative = np.cumsum(chances) / chances.sum()
        self.partner = np.arange(len(self.words))
        liked = min(len(self.words) - self.functions, 4_000)
        self.partner[self.functions : self.functions + liked] = self.functions + rng.permutation(liked)

    @cached_property
    def surface(self) -> list[str]:
        """The words as they are, at the end of a sentence, before a comma, and with a capital, one bank each."""
        words = self.words
        return [*words, *(f"{w}." for w in words), *(f"{w}," for w in words), *(w[:1].upper() + w[1:] for w in words)]

    def draw(self, rng: np.random.Generator, number: int) -> Ints:
        """Return the numbers of random words of a running text."""
        drawn: Ints = np.minimum(np.searchsorted(self.cumulative, rng.random(number)), len(self.words) - 1)
        follows = np.flatnonzero(rng.random(max(number - 1, 0)) < 0.15)
        drawn[follows + 1] = np.where(
            drawn[follows] >= self.functions, self.partner[drawn[follows]], drawn[follows + 1]
        )
        return drawn

    def banks(self, rng: np.random.Generator, number: int) -> Ints:
        """Return which bank of :attr:`surface` each word of a running text is taken from."""
        roll = rng.random(number)
        banks = np.where(roll < 0.08, 1, np.where(roll < 0.13, 2, 0))
        banks[1:][banks[:-1] == 1] = 3
        return banks


@dataclass(frozen=True, eq=False)
class Corpus:
    """Items with bodies of ``words`` words on average."""

    words: int = SHORT

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """What they are written in."""
        return Vocabulary()

    @cached_property
    def _categories(self) -> list[str]:
        stems = self.vocabulary.stems
        return [f"{stems[n % 40]}/{stems[40 + n]}" if n % 3 else stems[60 + n] for n in range(400)]

    def items(self, number: int) -> list[Item]:
        """Return the first items."""
        return list(islice(self._all(), number))

    def _all(self) -> Iterator[Item]:
        taken: dict[tuple[str, str], int] = {}
        for block in count():
            yield from self._block(np.random.default_rng([SEED, self.words, block]), taken)

    def texts(self, rng: np.random.Generator, lengths: Ints) -> list[str]:
        """Return one running text per length in words."""
        vocabulary = self.vocabulary
        total = int(lengths.sum())
        numbers = vocabulary.draw(rng, total) + len(vocabulary.words) * vocabulary.banks(rng, total)
        flat = [vocabulary.surface[number] for number in numbers.tolist()]
        ends = np.cumsum(lengths).tolist()
        return [" ".join(flat[end - length : end]) for length, end in zip(lengths.tolist(), ends, strict=True)]

    def _block(self, rng: np.random.Generator, taken: dict[tuple[str, str], int]) -> Iterator[Item]:
        spread = np.exp(rng.normal(0.0, 0.4, BLOCK)) * self.words / np.exp(0.08)
        bodies = self.texts(rng, np.clip(spread, 5, 8 * self.words).astype(np.int64))
        descriptions = self.texts(rng, rng.integers(6, 15, BLOCK))
        titles = self.texts(rng, rng.integers(2, 6, BLOCK))
        stems = self.vocabulary.stems
        named = (rng.random((BLOCK, 3)) ** 2 * min(len(stems), 3_000)).astype(np.int64)
        styles, kinds = rng.integers(0, len(_STYLES) - 2, BLOCK), rng.integers(0, 4, BLOCK)
        places = (rng.random(BLOCK) ** 1.5 * len(self._categories)).astype(np.int64)
        tags = (rng.random((BLOCK, 4)) ** 2 * 300).astype(np.int64)
        rolls = rng.integers(0, 1 << 30, BLOCK)
        for n in range(BLOCK):
            words = [_Word(stems[at]) for at in named[n].tolist()]
            kind = (ItemType.KNOWLEDGE, ItemType.KNOWLEDGE, ItemType.DIRECTIVE, ItemType.TOOL)[kinds[n]]
            category = self._categories[places[n]]
            name = _STYLES[styles[n]].format(*words) + ("" if n % 3 else f"-{words[2]}")
            name = name.replace("/", "-").replace(".", "_")
            version = taken[kind, f"{category}/{name}"] = taken.get((kind, f"{category}/{name}"), 0) + 1
            yield _item(
                kind,
                category,
                name if version == 1 else f"{name}-v{version}",
                texts=(titles[n].title().rstrip(".,"), descriptions[n], bodies[n]),
                tags=tuple(dict.fromkeys(stems[at] for at in tags[n, : 1 + n % 4].tolist())),
                roll=int(rolls[n]),
            )


def _item(
    kind: ItemType, category: str, name: str, *, texts: tuple[str, str, str], tags: tuple[str, ...], roll: int
) -> Item:
    """Return an item as the reader of files would: what it declares, sections of Markdown, symbols of code."""
    title, description, text = texts
    day = f"{2019 + roll % 7}-{1 + roll // 7 % 12:02}-{1 + roll // 84 % 28:02}"
    metadata: dict[str, Any] = {
        "name": name,
        "title": title,
        "category": category,
        "version": f"{1 + roll % 3}.{roll % 10}.{roll % 7}",
        "author": _AUTHORS[roll % len(_AUTHORS)],
        "created_at": "2018-05-01",
        "updated_at": day,
        "tags": list(tags),
        "description": description,
        "status": ("draft", "stable", "stable")[roll % 3],
    }
    symbols: tuple[Symbol, ...] = ()
    sections: tuple[Section, ...] = ()
    if kind is ItemType.TOOL:
        called = name.replace("-", "_")
        symbols = tuple(Symbol(one, "function", 1, 1) for one in (called, f"check_{called}"))
        body = f"{title}\n\n{text}\n" + "".join(
            f"\ndef {symbol.name}(value):\n    return value\n" for symbol in symbols
        )
    else:
        words = text.split()
        heads = [title, *(" ".join(words[at : at + 3]).strip(".,") for at in range(120, len(words), 120))]
        sections = tuple(Section((head,), 1 + (n > 0), 1, 1, "") for n, head in enumerate(heads))
        body = "\n\n".join(
            f"{'#' * section.level} {head}\n\n{' '.join(words[120 * n : 120 * (n + 1)])}"
            for n, (head, section) in enumerate(zip(heads, sections, strict=True))
        )
    return Item(
        kind,
        ItemId(f"{category}/{name}"),
        name,
        title=title,
        description=description,
        category=category,
        version=metadata["version"],
        tags=tags,
        author=metadata["author"],
        created="2018-05-01",
        updated=day,
        metadata=metadata,
        declared={"name": name, "category": category},
        body=body,
        sections=sections,
        symbols=symbols,
    )
