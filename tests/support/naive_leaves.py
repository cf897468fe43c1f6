"""The twin's reading of one leaf of a query: which terms it stands for, and where it occurs in a field."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from rye.errors import QueryError
from rye.query import ast
from tests.support.naive_analysis import (
    FieldText,
    automatic_distance,
    can_be_searched,
    edits,
    fold,
    identity,
    is_unspaced,
    is_word_character,
    joined_form,
    nfkc,
    parts,
    raw_chunks,
    split_camel,
    split_units,
    stem,
)

MOST_EXPANSIONS = 1024
"""Terms that one part of a leaf stands for at most, unless the leaf is excluded."""

Place: TypeAlias = tuple[int, int]
"""First and last position of an occurrence."""

Vocabulary: TypeAlias = Mapping[str, int]
"""The terms of the fields a leaf is bound to, with the number of items that have each."""


@dataclass(frozen=True, slots=True)
class Run:
    """Terms at consecutive positions: for each position the terms that may stand there, or None where any may.

    ``joined`` holds the terms that stand for the whole run at one position; ``misses`` of the others but the first
    may hold other terms. With ``at_once`` all stand at the same position, as signs do.

    An identifier of which the parts stand apart weighs ``apart``; in one of several chunks, the terms ``inside`` stand
    at the beginning of each chunk where it does not.
    """

    positions: tuple[Mapping[str, float] | None, ...]
    joined: Mapping[str, float]
    misses: int = 0
    at_once: bool = False
    apart: float = 1.0
    inside: tuple[tuple[int, Mapping[str, float]], ...] = ()


@dataclass(frozen=True, slots=True)
class Bag:
    """Terms in any order within so many positions more than they are."""

    terms: Counter[str]
    slop: int


@dataclass(frozen=True, slots=True)
class Chain:
    """Operands, each a choice of several, in a chain of distances."""

    operands: tuple[tuple[Run | Bag, ...], ...]
    distances: tuple[int, ...]


Leaf: TypeAlias = Run | Bag | Chain


def compile_leaf(node: ast.Node, vocabulary: Vocabulary, *, excluded: bool = False) -> Leaf:
    """Return what a leaf stands for, given the terms there are: of too many the most frequent, unless it is excluded.

    Raises:
        QueryError: ``no-searchable-text`` where it has no letter and no digit.
    """
    most = len(vocabulary) if excluded else MOST_EXPANSIONS
    match node:
        case ast.Word(text):
            return _word(text, vocabulary, most)
        case ast.Fuzzy(text, distance):
            return _fuzzy(text, distance, vocabulary, most)
        case ast.Wildcard(pattern):
            patterns = wildcard_parts(pattern)
            positions = [one and _matching(one, vocabulary, most) for one in patterns]
            letters = pattern.replace("*", "").replace("?", "")
            if len(patterns) > 1 and all(patterns) and pattern.isascii() and letters.isalnum():
                whole = re.compile("".join(one.pattern for one in patterns if one))
                return Run(tuple(positions), _matching(whole, vocabulary, most))
            return Run(tuple(positions), {})
        case ast.Phrase(text, slop) if signs_of(text) and (not parts(text) or len(text.split()) == 1):
            return _signs(text)
        case ast.Phrase(text, None):
            _searchable(text)
            return Run(tuple(each for word in text.split() for each in _in_phrase(word, vocabulary, most)), {})
        case ast.Phrase(text, slop):
            return Bag(Counter(_searchable(text)), slop or 0)
        case ast.Near(operands, distances):
            return Chain(tuple(_operand(operand, vocabulary, excluded=excluded) for operand in operands), distances)
    raise AssertionError(f"{type(node).__name__} is no leaf")


def _searchable(text: str) -> list[str]:
    """Return the parts of a text that must have some."""
    if not can_be_searched(text):
        raise nothing_to_search(text)
    return parts(text)


def signs_of(text: str) -> list[str]:
    """Return the sign form of a word of one chunk, or the operators and symbols of a word without any part."""
    found = list(raw_chunks(text))
    if len(found) == 1 and found[0][1]:
        return [found[0][1]]
    return [] if any(run for run, _ in found) else [sign for _, sign in found]


def _signs(text: str) -> Run:
    return Run(tuple({sign: 1.0} for sign in signs_of(text)), {}, at_once=True)


def _in_phrase(word: str, vocabulary: Vocabulary, most: int) -> list[Mapping[str, float]]:
    """Return what may stand at each position of a word in quotes; a wildcard beside a letter is one there too."""
    letters = [is_name(character) for character in word] + [False]
    wild = [
        at
        for at, character in enumerate(word)
        if (character == "*" and (letters[at + 1] or (at and letters[at - 1])))
        or (character == "?" and at and letters[at - 1] and is_name(word[at:].lstrip("?")[:1]))
    ]
    if wild and not set(word) & set("/=:&"):
        return [_matching(one, vocabulary, most) for one in wildcard_parts(word) if one]
    if len(parts(word)) == len(signs_of(word)) == 1:
        return [{sign: 1.0} for sign in signs_of(word)]
    return [{part: 1.0} for part in parts(word)]


def is_name(text: str) -> bool:
    """Tell whether a text is letters, digits and underscores."""
    return bool(text) and all(character.isalnum() or character == "_" for character in text)


def nothing_to_search(text: str) -> QueryError:
    """Return the error for a leaf without letters and digits."""
    return QueryError("no-searchable-text", f"no letter or digit in {text!r}", text=text, position=0)


def _word(text: str, vocabulary: Vocabulary, most: int) -> Run:
    """A word: its parts, or for each a term of the same stem at half weight; or its joined form."""
    positions = []
    if signs_of(text):
        return _signs(text)
    for part in _searchable(text):
        found = {term: 1.0 if term == part else 0.6 for term in vocabulary if stem(term) == stem(part)}
        positions.append(_cut(found, vocabulary, part, most))
    form = joined_form(text)
    run = Run(tuple(positions), {form: 1.0} if form else {})
    return _as_identifier(run, [(number, {term: 1.0}) for number, term in identity(text)])


def _fuzzy(text: str, distance: int | None, vocabulary: Vocabulary, most: int) -> Run:
    """A fuzzy word: for each part the terms near it; or those near its joined form."""
    form = joined_form(text)
    if signs_of(text):
        return _signs(text)
    several = _searchable(text)
    if len(several) > 1 and all(is_unspaced(part[0]) for part in several):
        most_misses = distance if distance is not None else automatic_distance("x" * len(several))
        joined = _similar(form, distance, vocabulary, most) if form else {}
        return Run(tuple({part: 1.0} for part in several), joined, most_misses)
    positions = tuple(_similar(part, distance, vocabulary, most) for part in _searchable(text))
    run = Run(positions, _similar(form, distance, vocabulary, most) if form else {})
    forms = [(number, _similar(term, distance, vocabulary, most)) for number, term in identity(text)]
    return _as_identifier(run, forms)


def _as_identifier(run: Run, forms: Sequence[tuple[int, Mapping[str, float]]]) -> Run:
    """Return a run in which the parts of an identifier weigh little apart; others have no forms."""
    return replace(run, apart=0.05, inside=tuple(forms) if len(forms) > 1 else ()) if forms else run


def _similar(part: str, distance: int | None, vocabulary: Vocabulary, cut_to: int) -> dict[str, float]:
    most = automatic_distance(part) if distance is None else distance
    counts = {term: edits(part, term) for term in vocabulary}
    weights = {term: 1.0 - count / len(part) for term, count in counts.items() if count <= most}
    return _cut({term: weight for term, weight in weights.items() if weight > 0}, vocabulary, part, cut_to)


def _matching(pattern: re.Pattern[str], vocabulary: Vocabulary, most: int) -> dict[str, float]:
    return _cut({term: 1.0 for term in vocabulary if pattern.fullmatch(term)}, vocabulary, "", most)


def _cut(weights: dict[str, float], vocabulary: Vocabulary, itself: str, most: int) -> dict[str, float]:
    """Keep the most frequent terms, and the word itself always."""
    order = sorted(weights, key=lambda term: (term != itself, -vocabulary.get(term, 0), term))
    return {term: weights[term] for term in order[:most]}


def wildcard_parts(pattern: str) -> list[re.Pattern[str] | None]:
    """Return one pattern for each position, None where anything may stand; an empty list stands for every item.

    Raises:
        QueryError: ``no-searchable-text`` where nothing is left that could stand in a term.
    """
    pieces: list[list[tuple[str, bool]]] = [[]]
    for text, wild in wildcard_tokens(pattern):
        for character in [text] if wild else nfkc(text):
            if wild or is_word_character(character):
                pieces[-1].append((character, wild))
            else:
                pieces.append([])
    found = [piece for piece in pieces if piece]
    if all(_only_stars(piece) for piece in found) and found and not pattern.strip("*?_-./\\"):
        return []
    if not any(character.isalnum() for piece in found for character, wild in piece if not wild):
        raise nothing_to_search(pattern)
    while _only_stars(found[0]):
        found.pop(0)
    while _only_stars(found[-1]):
        found.pop()
    return [None if _only_stars(one) else _regex(one) for piece in found for one in _in_run(piece)]


def _in_run(piece: list[tuple[str, bool]]) -> list[list[tuple[str, bool]]]:
    """Open a piece at ends where scripts without blanks stand; without wildcards inside, it is its letters in a row."""
    letters = [character for character, wild in piece if not wild]
    if not letters:
        return [piece]
    if "".join(letters).isascii():
        return _at_camel_borders(piece)
    first = is_unspaced(letters[0])
    last = is_unspaced(split_units("".join(letters))[-1][0])
    inner = list(piece)
    while first and inner[0] == ("*", True):
        inner.pop(0)
    while last and inner[-1] == ("*", True):
        inner.pop()
    if any(wild for _, wild in inner):
        return [[("*", True)] * first + inner + [("*", True)] * last]
    return [[(character, False) for character in unit] for unit in split_units(fold("".join(letters)))]


def _at_camel_borders(piece: list[tuple[str, bool]]) -> list[list[tuple[str, bool]]]:
    """Split a piece where its stretches of letters and digits have a part."""
    found: list[list[tuple[str, bool]]] = [[]]
    stretches = re.split(r"([*?])", "".join(character for character, _ in piece))
    for stretch in filter(None, stretches):
        wild = stretch in {"*", "?"}
        for number, part in enumerate([stretch] if wild else split_camel(stretch)):
            if number:
                found.append([])
            found[-1] += [(character, wild) for character in part]
    return found


def wildcard_tokens(pattern: str) -> list[tuple[str, bool]]:
    r"""Return the pattern as stretches of literal text, and wild characters marked True; ``\*`` is literal."""
    tokens: list[tuple[str, bool]] = []
    for stretch in re.findall(r"[*?]|(?:\\.|[^*?\\])+|\\", pattern, re.DOTALL):
        wild = stretch in {"*", "?"}
        tokens.append((stretch if wild else re.sub(r"\\(.)", r"\1", stretch, flags=re.DOTALL), wild))
    return tokens


def whole_pattern(pattern: str) -> re.Pattern[str]:
    """Return the pattern of a whole value, to be held against it casefolded."""
    wild = {"*": ".*", "?": "."}
    tokens = wildcard_tokens(pattern)
    return re.compile(
        "".join(wild[text] if is_wild else re.escape(text.casefold()) for text, is_wild in tokens), re.DOTALL
    )


def _only_stars(piece: Sequence[tuple[str, bool]]) -> bool:
    return all(wild and character == "*" for character, wild in piece)


def _regex(piece: Sequence[tuple[str, bool]]) -> re.Pattern[str]:
    """Return the pattern of one part; its literal stretches are folded as terms are."""
    text = ""
    literal = ""
    for character, wild in [*piece, ("", True)]:
        if not wild:
            literal += character
            continue
        text += re.escape(fold(literal)) + {"*": ".*", "?": ".", "": ""}[character]
        literal = ""
    return re.compile(text, re.DOTALL)


def _operand(node: ast.Node, vocabulary: Vocabulary, *, excluded: bool) -> tuple[Run | Bag, ...]:
    """Return the choices of one operand of NEAR."""
    if isinstance(node, ast.Or):
        return tuple(choice for operand in node.operands for choice in _operand(operand, vocabulary, excluded=excluded))
    leaf = compile_leaf(node, vocabulary, excluded=excluded)
    assert not isinstance(leaf, Chain), "a chain has no chain in it"
    if isinstance(leaf, Run) and not leaf.positions:
        raise nothing_to_search(str(node))
    return (leaf,)


def frequency(leaf: Leaf, text: FieldText) -> float:
    """Return the weighted number of occurrences of a leaf in a field."""
    match leaf:
        case Run((only,), joined) if only is not None and not joined:
            return sum(weight * len(text.positions.get(term, ())) for term, weight in only.items())
        case Run():
            return sum(_run_places(leaf, text).values())
        case Bag(terms, _):
            survivors = _survivors(leaf, text)
            return float(min(len(survivors[term]) // count for term, count in terms.items()))
        case Chain(operands, distances):
            places = [_choice_places(choices, text) for choices in operands]
            full = list(_chains(places, distances))
            used = [{chain[number] for chain in full} for number in range(len(places))]
            return min(sum(found[place] for place in kept) for found, kept in zip(places, used, strict=True))


def _run_places(run: Run, text: FieldText) -> dict[Place, float]:
    """Return where a run occurs and with what weight: one occurrence for each start, the one of greatest weight."""
    best: dict[int, tuple[float, int]] = {}
    for start in sorted({place for places in text.positions.values() for place in places}):
        weights = [
            1.0 if terms is None else _best_at(terms, text, start if run.at_once else start + number)
            for number, terms in enumerate(run.positions)
        ]
        held = len(weights) - weights.count(0.0)
        weight = min(weights)
        if run.misses:
            weight = held / len(weights) if weights[0] and held >= len(weights) - run.misses else 0.0
        if run.inside:
            together = min(weight, *(_best_at(terms, text, start + number) for number, terms in run.inside))
            weight = max(weight * run.apart, together)
        else:
            weight *= run.apart
        whole = (weight, start if run.at_once else start + len(weights) - 1)
        joined = (_best_at(run.joined, text, start), start)
        if max(whole, joined)[0] > 0:
            best[start] = max(whole, joined)
    return {(start, end): weight for start, (weight, end) in best.items()}


def _best_at(terms: Mapping[str, float], text: FieldText, position: int) -> float:
    """Return the greatest weight of the terms that stand at a position, or 0."""
    return max((weight for term, weight in terms.items() if position in text.positions.get(term, ())), default=0.0)


def _survivors(bag: Bag, text: FieldText) -> dict[str, set[int]]:
    """Return for each term of a bag its positions that lie in some window that holds the whole bag."""
    width = bag.terms.total() + bag.slop
    places = {term: text.positions.get(term, ()) for term in bag.terms}
    survivors: dict[str, set[int]] = {term: set() for term in bag.terms}
    everywhere = [place for found in places.values() for place in found]
    if not everywhere:
        return survivors
    for start in range(min(everywhere) - width, max(everywhere) + 1):
        inside = {term: {place for place in found if start <= place < start + width} for term, found in places.items()}
        if all(len(inside[term]) >= count for term, count in bag.terms.items()):
            for term, found in inside.items():
                survivors[term] |= found
    return survivors


def _choice_places(choices: Sequence[Run | Bag], text: FieldText) -> dict[Place, float]:
    """Return where an operand of NEAR occurs; a place that several terms or choices give has the greatest weight."""
    places: dict[Place, float] = {}
    for choice in choices:
        if isinstance(choice, Bag):
            found = {(place, place): 1.0 for kept in _survivors(choice, text).values() for place in kept}
        else:
            found = _run_places(choice, text)
        for place, weight in found.items():
            places[place] = max(weight, places.get(place, 0.0))
    return places


def _chains(operands: Sequence[Mapping[Place, float]], distances: Sequence[int]) -> Iterator[tuple[Place, ...]]:
    """Yield every choice of one place for each operand in which all neighbours are near each other."""
    if len(operands) == 1:
        yield from ((place,) for place in operands[0])
        return
    for rest in _chains(operands[1:], distances[1:]):
        yield from ((place, *rest) for place in operands[0] if _near(place, rest[0], distances[0]))


def _near(left: Place, right: Place, distance: int) -> bool:
    """Tell whether one place begins 1 to ``distance`` positions after the other ends."""
    first, second = sorted([left, right])
    return 1 <= second[0] - first[1] <= distance
