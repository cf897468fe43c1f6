"""Findability: how often a question's first hits include the item that answers it."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from rye._report import Report
from rye.errors import ItemError, NotFoundError, RyeError
from rye.items.clients import SKILL_FILE
from rye.items.reader import MAX_BYTES
from rye.options.search import WhyOptions
from rye.registry.questions import MAX_QUESTIONS, Question, read_questions
from rye.registry.shares import Share, decisive
from rye.search.contract.request import make_request
from rye.search.contract.results import SearchResult
from rye.spaces.classify import MODULES
from rye.spaces.read import unreadable
from rye.spaces.snapshot import PLAIN, PROGRAM, mode_of, tree

if TYPE_CHECKING:
    from rye.index.build.refresh import Progress
    from rye.registry.engine import Engine

# ruff: noqa: PTH112, PTH113 - these never raise, whatever the path

QUESTION_FILES = ("evals.csv", "evals.json", "trigger_eval.json")
"""Names of question files that are looked for in a folder."""

MAX_LOOKED_AT = 1_000_000
"""Maximum files to look at in a folder."""

_CLOSED = frozenset({".git", MODULES})
_HITS = 10
"""How many hits are examined; an item ranked lower counts as not found."""


@dataclass(frozen=True, slots=True)
class Outcome(Report):
    """The result of one question.

    Attributes:
        question, place: The text, and where it is written.
        expected: ``type:id`` of the item that should be the first hit or, for a negative question, should not.
        rank: The rank of the item among the hits; None if it is not a hit.
        winner: ``type:id`` of the first hit; empty if there is none.
        decided_by: Parts of the query that favour the winner most.
        reasons: Why the expected item is not a hit.
    """

    question: str
    place: str
    expected: str
    rank: int | None
    winner: str
    decided_by: tuple[Share, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unmeasured(Report):
    """A question or file that could not be measured, because its item does not exist or it cannot be read."""

    place: str
    question: str
    message: str


@dataclass(frozen=True, slots=True)
class Findability(Report):
    """How well questions find the items that answer them.

    Attributes:
        questions: Questions with an expected item; the next three figures are about them.
        hit_at_1, hit_at_3: Share of questions whose item is the first hit, or among the first three.
        mrr: Mean reciprocal rank among the first ten hits.
        negatives: Questions that an item should not answer.
        skipped: Questions without an item.
        failures: Questions whose first hit is another item.
        false_hits: Questions whose first hit is the item that should not answer them.
        errors: Questions and files that could not be measured.
        methods: How many questions were ranked by each ``method`` of a search.
        warnings: Warnings about the items, not about single questions.
    """

    questions: int
    hit_at_1: float
    hit_at_3: float
    mrr: float
    negatives: int
    skipped: int
    failures: tuple[Outcome, ...]
    false_hits: tuple[Outcome, ...]
    errors: tuple[Unmeasured, ...]
    methods: Mapping[str, int]
    warnings: tuple[str, ...]


def find_questions(path: Path) -> tuple[list[Question], list[Unmeasured]]:
    """Read the questions of a file, or of the :data:`QUESTION_FILES` of a folder; return them and the read errors.

    A question that occurs several times is returned once.

    Raises:
        ItemError: The file cannot be read, or there are too many questions or files.
        NotFoundError: ``no-questions``.
    """
    unique, errors, is_folder = dict[tuple[str, str, bool], Question](), list[Unmeasured](), os.path.isdir(path)
    for name in sorted(_files_below(path)) if is_folder else (path.name,):
        try:
            for question in _read(path / name if is_folder else path, name):
                unique.setdefault((question.text, question.item, question.is_answer), question)
        except ItemError as error:
            if not is_folder:
                raise
            errors.append(Unmeasured("", "", str(error)))
        if len(unique) > MAX_QUESTIONS:
            raise ItemError("bad-questions", f"{path} has over {MAX_QUESTIONS:,} questions", hint="name a folder in it")
    if not unique and not errors:
        hint = f"a folder is searched for {', '.join(QUESTION_FILES)}; name a file that is called otherwise"
        raise NotFoundError("no-questions", f"there are no questions in {path}", hint=hint)
    return list(unique.values()), errors


def _files_below(folder: Path) -> Iterator[str]:
    """Yield the paths of question files below a folder, also in hidden folders; links are not followed."""
    for count, entry in enumerate(tree(str(folder), lambda path: PurePath(path).name in _CLOSED)):
        if count >= MAX_LOOKED_AT:
            raise ItemError("too-many-files", f"{folder} has over {MAX_LOOKED_AT:,} files", hint="name a folder in it")
        if not isinstance(entry, OSError) and entry[1].name in QUESTION_FILES and mode_of(entry[1]) in {PLAIN, PROGRAM}:
            yield entry[0]


def _read(path: Path, name: str) -> list[Question]:
    try:
        if not os.path.isfile(path):
            message = f"{name} is not a file" if os.path.lexists(path) else f"there is no {name}"
            raise ItemError("not-a-file", message, hint="name a JSON or CSV file, or a folder with evals.json")
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise unreadable(name, error) from None
    if len(data) > MAX_BYTES:
        raise ItemError("too-large", f"{name} is larger than {MAX_BYTES:,} bytes", hint="split it")
    folders = path.absolute().parents
    return read_questions(
        data, name, skill=next((folder.name for folder in folders if (folder / SKILL_FILE).is_file()), "")
    )


def evaluate(engine: Engine, path: Path, options: Mapping[str, Any], progress: Progress | None = None) -> Findability:
    """Search for the questions of a file or folder, and compare the first hits with the expected items."""
    questions, errors = find_questions(path)
    outcomes: dict[bool, list[Outcome]] = {True: [], False: []}
    with engine.single_scan():
        warnings, evaluation = engine.search(make_request("", {"limit": 1})).warnings, _Evaluation(engine, options)
        for done, question in enumerate(questions):
            if progress is not None:
                progress(done, len(questions), "questions")
            try:
                if question.item:
                    outcomes[question.is_answer].append(evaluation.measure(question))
            except RyeError as error:
                errors.append(Unmeasured(question.place, question.text, str(error)))
    ranks = [outcome.rank or math.inf for outcome in outcomes[True]]
    count = max(len(ranks), 1)
    return Findability(
        questions=len(ranks),
        hit_at_1=round(ranks.count(1) / count, 4),
        hit_at_3=round(sum(rank <= 3 for rank in ranks) / count, 4),
        mrr=round(sum(1 / rank for rank in ranks if rank <= _HITS) / count, 4),
        negatives=len(outcomes[False]),
        skipped=sum(not question.item for question in questions),
        failures=tuple(outcome for outcome in outcomes[True] if outcome.rank != 1),
        false_hits=tuple(outcome for outcome in outcomes[False] if outcome.rank == 1),
        errors=tuple(errors),
        methods=dict(evaluation.methods),
        warnings=warnings,
    )


class _Evaluation:
    """Measures single questions.

    Attributes:
        methods: How many questions were ranked by each method.

    Args:
        engine: The engine to search.
        options: The options of each search.
    """

    def __init__(self, engine: Engine, options: Mapping[str, Any]) -> None:
        self.methods = Counter[str]()
        self._engine, self._options, self._items = engine, options, dict[str, str]()

    def measure(self, question: Question) -> Outcome:
        """Search for one question; return the rank of its item, and why an expected item is not first.

        Raises:
            RyeError: The item does not exist, or the question cannot be searched.
        """
        item, hits, text = self._resolve(question.item), dict[str, SearchResult](), question.text
        response = self._engine.search(make_request(text, {**self._options, "limit": _HITS, "explain": True}))
        self.methods[response.method] += 1
        for hit in response.results:  # the first of several copies counts
            hits.setdefault(f"{hit.type}:{hit.id}", hit)
        winner, expected, reasons = next(iter(hits), ""), hits.get(item), tuple[str, ...]()
        rank = [*hits].index(item) + 1 if expected else None
        if rank is None and question.is_answer:
            with suppress(RyeError):  # a cluster cannot explain hits
                why = self._engine.why(make_request(text, self._options, WhyOptions), item)
                expected, rank, reasons = why.hit, why.rank, tuple(reason.message for reason in why.reasons)
        decided_by = decisive(hits.get(winner), expected) if question.is_answer and rank != 1 else ()
        return Outcome(text, question.place, item, rank, winner, decided_by, reasons)

    def _resolve(self, name: str) -> str:
        """Return ``type:id`` of an item; a skill takes precedence over other items of the same name."""
        if name not in self._items:
            try:
                item = self._engine.load(f"skill:{name}", None).item
            except RyeError:
                item = self._engine.load(name, None).item
            self._items[name] = f"{item.type}:{item.id}"
        return self._items[name]
