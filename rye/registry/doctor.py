"""Which skills of a project and its user an agent can find, and the problems that hide them."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from rye.errors import ItemError
from rye.index.build.reader import Reader
from rye.index.build.refresh import Progress
from rye.items.clients import SKILL_FILE
from rye.items.model import TYPE_NAMES, ItemType
from rye.items.provenance import RECORDS
from rye.options.search import MAX_RELATIONS
from rye.registry.diagnosis import CODES, Diagnosis, DoctorReport, ListingReport
from rye.registry.hooks import missing_hooks
from rye.registry.listings import (
    LISTINGS,
    MAX_DESCRIPTION,
    ClientListing,
    Entry,
    fit,
    has_trigger,
    listed_text,
    without_others,
)
from rye.registry.relations import relations_of
from rye.registry.shares import decisive
from rye.search.contract.request import Request, make_request
from rye.search.contract.results import SearchResponse
from rye.search.states.graph import graph_of
from rye.spaces.contents import SkillFiles, read_skill
from rye.spaces.git import ask, ignored_below, is_for_agents
from rye.spaces.lists import has_list
from rye.spaces.model import Root, Space
from rye.spaces.signed import ReadItem, read_item
from rye.spaces.skills_lock import compare_lock, installed_from, read_lock
from rye.spaces.uncovered import beside_words, named_files, relevant_non_items
from rye.spaces.walk import Walk
from rye.trust.judge import judge
from rye.trust.list import SkillFolder, write_rows
from rye.trust.model import Signature, Verdict
from rye.trust.trust_set import TrustSet
from rye.trust.trust_store import system_clock

_SHINGLE: Final = 5
_ALIKE: Final = 0.6
"""Texts with at least this share of runs of five words in common are near-duplicates."""
_HITS: Final = 5
_QUERY_WORDS: Final = 16
"""Words of a description that are used as a query, the length of a long request."""
_NAMED: Final = 3


class _Item(NamedTuple):
    """An item read from disk.

    Attributes:
        doc: Its document number.
        root, path: Where it is.
        read: The parsed file.
        signature: What its signature is worth.
        skill: The content of its folder; None if it is not a skill.
    """

    doc: int
    root: Root
    path: str
    read: ReadItem
    signature: Signature
    skill: SkillFolder | SkillFiles | None

    @property
    def ref(self) -> str:
        return f"{self.read.item.type}:{self.read.item.id}"

    @property
    def file(self) -> str:
        return f"{self.root.path}/{self.path}"


class Searcher(Protocol):
    """Runs searches over all spaces on one state of the items."""

    def ranked(self, request: Request) -> list[str]:
        """Return ``type:id`` of the first hits, without reading their files."""

    def search(self, request: Request) -> SearchResponse:
        """Run a search."""


def diagnose(
    reader: Reader,
    roots: Iterable[Root],
    trust: TrustSet,
    engine: Searcher,
    *,
    warnings: tuple[str, ...],
    progress: Progress | None = None,
) -> DoctorReport:
    """Return what an agent can find in the project and the user's space, and the problems.

    Args:
        reader: A reader over all spaces.
        roots: Their roots, also those without items.
        trust: The trusted keys.
        engine: Runs searches.
        warnings: The warnings of the spaces.
        progress: Called with the skills compared, the skills to compare, and what is done.
    """
    findings = list[Diagnosis]()
    own = [root for root in roots if root.space is not Space.SYSTEM]
    items = list(_items(reader, trust, findings))
    copies = [item for item in items if item.skill is not None]
    first = {item.ref: item for item in reversed(copies)}
    skills = [first[ref] for ref in sorted(first)]
    listings = [report for listing in LISTINGS if (report := _listing(listing, copies))]
    findings += [
        *_unknown_signers(items),
        *_tampered(items),
        *(_cut(report) for report in listings if report.cut),
        *_descriptions(skills),
        *_competing(skills, engine, progress),
        *_same_names(copies),
        *_broken(reader, trust, items),
        *_sources(copies),
        *_checkouts(reader),
        *_hooks(own),
        *_uncovered(own),
        *(_of_file("hidden-text", item, text, _REMOVE) for item in items for text in _hidden(item)),
    ]
    counts = defaultdict[str, int](int)
    for item in items:
        counts[str(item.signature.verdict)] += 1
    return DoctorReport(len(skills), len(items), dict(counts), tuple(listings), tuple(findings), warnings)


def _hooks(roots: Iterable[Root]) -> Iterator[Diagnosis]:
    for folder in dict.fromkeys(root.around for root in roots):
        for path, program in missing_hooks(folder):
            fix = "put rye on PATH, or print the settings again: rye hook claude --print-config"
            yield Diagnosis(
                "hook-missing", (), f"the hook in {path.name} starts {program}, which is not there", fix, str(path)
            )


def _uncovered(roots: Iterable[Root]) -> Iterator[Diagnosis]:
    """Yield one finding for each root with files that agents or tools read, and that nobody signed."""
    for root in roots:
        ignored = ignored_below(root.path) if root.client is not None and root.client.is_fixed else frozenset[str]()
        walk = Walk(root, whole=True, without=ignored)
        paths = [path for listing in walk for path in relevant_non_items(listing)]
        if paths and not has_list(root):
            fix = "read them; rye verify --strict says how to sign or accept each"
            yield Diagnosis("uncovered", (), beside_words(paths), fix, str(root.path / paths[0]))


_REMOVE: Final = "remove it, or ask who wrote it what it is for"


def _items(reader: Reader, trust: TrustSet, findings: list[Diagnosis]) -> Iterator[_Item]:
    """Yield the items of the project and the user, read from disk; add a finding for each unreadable file."""
    now = system_clock()
    for part in reader.parts:
        if part.root.space is Space.SYSTEM:
            continue
        folders = dict[str, SkillFolder]()  # a cache, so that each skill is read once
        for doc in part.live.nonzero()[0].tolist():
            path, kind, item_id = part.segment.paths[doc], TYPE_NAMES[part.segment.types[doc]], part.segment.ids[doc]
            try:
                read = read_item(part.root, path, ItemType(kind), item_id, skills=folders)
                folder, _, name = path.rpartition("/")
                skill: SkillFolder | SkillFiles | None = None
                if part.root.has_skills and name == SKILL_FILE:
                    skill = folders.get(f"{part.root.path}/{folder}") or read_skill(part.root, folder)
            except ItemError as error:
                fix = error.hint or "mend it, or remove it"
                file = f"{part.root.path}/{path}"
                findings.append(Diagnosis("unreadable", (f"{kind}:{item_id}",), error.message, fix, file))
                continue
            signature = judge(read.evidence, origin=read.origin, trust=trust, now=now)
            yield _Item(part.base + doc, part.root, path, read, signature, skill)


def _of_file(code: str, item: _Item, message: str, fix: str, *, line: int = 1) -> Diagnosis:
    return Diagnosis(code, (item.ref,), f"{item.ref}: {message}", fix, item.file, line)


def _hidden(item: _Item) -> tuple[str, ...]:
    return tuple(filter(None, (item.read.hidden, *(item.skill.hidden if item.skill else ()))))


def _listing(listing: ClientListing, copies: Sequence[_Item]) -> ListingReport | None:
    """Return how the skills that a client reads fit into its listing; None if it reads none."""
    entries = dict[str, Entry]()
    for item in copies:
        client = item.root.client
        if client is not None and client.place.startswith(".") and client.client in listing.clients:
            read = item.read.item
            entries.setdefault(item.ref, Entry(read.name, listed_text(read.metadata, read.description)))
    if not entries:
        return None
    fitted = fit(listing, sorted(entries.values()))
    return ListingReport(
        listing.name,
        len(entries),
        fitted.characters,
        listing.budget,
        fitted.cut,
        fitted.room,
        listing.source,
        listing.date,
    )


def _cut(report: ListingReport) -> Diagnosis:
    how = f"cuts each description to {report.room} characters" if report.room else "lists some skills by name only"
    if report.budget is None or report.characters <= report.budget:
        how = "cuts the longest descriptions"
    names = tuple(f"directive:{name}" for name in report.cut)
    fix = "shorten descriptions, or remove skills that are not used here"
    return Diagnosis("listing-cut", names, f"{report.client} {how}: {len(report.cut)} of {report.skills} skills", fix)


def _descriptions(skills: Iterable[_Item]) -> Iterator[Diagnosis]:
    """Yield a finding for each fault of descriptions, with all skills that have it."""
    rows = defaultdict[str, list[_Item]](list)
    for item in skills:
        stated = item.read.item.metadata.get("description")
        description = stated.strip() if isinstance(stated, str) else ""
        if not description:
            rows["no-description"].append(item)
        elif len(description) > MAX_DESCRIPTION:
            rows["long-description"].append(item)
        if description and not has_trigger(listed_text(item.read.item.metadata, description)):
            rows["no-trigger"].append(item)
    fixes = {
        "no-description": "write one: what the skill does, and when to use it",
        "long-description": f"cut it to {MAX_DESCRIPTION:,} characters",
        "no-trigger": "add a sentence that begins with “Use when”",
    }
    for code, fix in fixes.items():
        if affected := rows[code]:
            refs = tuple(item.ref for item in affected)
            yield Diagnosis(code, refs, CODES[code], fix, affected[0].file)


def _competing(skills: Sequence[_Item], engine: Searcher, progress: Progress | None) -> Iterator[Diagnosis]:
    """Yield skills that are not the first hit for their own description, and pairs of near-duplicates."""
    by_ref, pairs = {item.ref: item for item in skills}, set[tuple[str, str]]()
    for done, item in enumerate(skills):
        if progress is not None:
            progress(done, len(skills), "skills")
        text = " ".join(without_others(item.read.item.description).split()[:_QUERY_WORDS])
        hits = [ref for ref in engine.ranked(_request(text)) if ref in by_ref] if text else []
        pairs |= {(item.ref, ref) for ref in hits if ref != item.ref}
        if not hits or hits[0] == item.ref:
            continue
        explained = {f"{hit.type}:{hit.id}": hit for hit in engine.search(_request(text, explain=True)).results}
        words = [share.part for share in decisive(explained.get(hits[0]), explained.get(item.ref))]
        decided = f" ({', '.join(words)})" if words else ""
        message = f"{item.ref} is asked for in its own words, and {hits[0]} comes first{decided}"
        fix = "say in both descriptions what the other one is not for, or merge them"
        yield Diagnosis("overlap", (item.ref, hits[0]), message, fix, item.file)
    shingles = {ref: _shingles(item.read.item.body) for ref, item in by_ref.items()}
    for first, second in sorted({tuple(sorted(pair)) for pair in pairs}):
        common, united = shingles[first] & shingles[second], shingles[first] | shingles[second]
        if united and len(common) >= _ALIKE * len(united):
            message = f"{first} and {second} have {len(common) * 100 // len(united)} % of their text in common"
            yield Diagnosis("near-duplicate", (first, second), message, "keep one of them", by_ref[first].file)


def _request(text: str, *, explain: bool = False) -> Request:
    options = {"scope": "directive", "filters": {"format": "skill"}, "limit": _HITS, "mode": "keyword"}
    return make_request(text, {**options, "lenient": True, "explain": explain})


def _shingles(text: str) -> frozenset[int]:
    words = text.casefold().split()
    return frozenset(hash(tuple(words[at : at + _SHINGLE])) for at in range(max(len(words) - _SHINGLE + 1, 0)))


def _same_names(copies: Sequence[_Item]) -> Iterator[Diagnosis]:
    """Yield skills with the same name but different files, which make clients behave differently."""
    groups = defaultdict[str, list[_Item]](list)
    for item in copies:
        groups[item.ref].append(item)
    for ref, group in sorted(groups.items()):
        if len(group) > 1 and len({_digest(item) for item in group}) > 1:
            places = ", ".join(item.file for item in group)
            message = f"{ref} is in {len(group)} folders and is not the same: {places}"
            yield Diagnosis("same-name", (ref,), message, "keep one, and copy or link it to the others", group[0].file)


def _checkouts(reader: Reader) -> Iterator[Diagnosis]:
    """Yield what git tracks and is not on disk, and the links that it wrote as files."""
    for folder in dict.fromkeys(part.root.around for part in reader.parts if part.root.space is Space.PROJECT):
        tracked = ask(folder)
        if missing := [*filter(is_for_agents, tracked.empty), *tracked.missing]:
            fix = "git submodule update --init, git sparse-checkout disable or git restore puts it there"
            message = f"{CODES['not-checked-out']}: {named_files(missing)}"
            yield Diagnosis("not-checked-out", (), message, fix, f"{tracked.top}/{missing[0]}")
        if links := sorted(tracked.links):
            fix = "where the system has links, set core.symlinks to true and check the files out again"
            message = f"{CODES['no-links']}: {named_files(links)}"
            yield Diagnosis("no-links", (), message, fix, f"{tracked.top}/{links[0]}")


def _digest(item: _Item) -> str:
    return hashlib.sha256(write_rows(item.skill.files)).hexdigest() if item.skill else ""


def _broken(reader: Reader, trust: TrustSet, items: Sequence[_Item]) -> Iterator[Diagnosis]:
    """Yield references to missing files, and metadata that a client may not read."""
    dangling = graph_of(reader).mask("dangling")
    for item in {item.ref: item for item in reversed(items)}.values():
        if item.read.item.note:
            fix = "write it as YAML: quote a value that has a colon or begins with a sign"
            yield _of_file("front-matter", item, item.read.item.note, fix, line=2)
        if dangling[item.doc]:
            start = reader.locate(item.doc)
            relations = relations_of(reader, trust, item.ref, start, direction="out", depth=1, limit=MAX_RELATIONS)
            broken = [relation for relation in relations.relations if relation.state == "dangling"]
            names = ", ".join(dict.fromkeys(relation.written for relation in broken[:_NAMED]))
            more = f" and {len(broken) - _NAMED} more" if len(broken) > _NAMED else ""
            fix = "mend the reference, or put the file there"
            message = f"it refers to what is not there: {names}{more}"
            yield _of_file("dangling", item, message, fix, line=broken[0].line if broken else 1)


def _unknown_signers(items: Iterable[_Item]) -> Iterator[Diagnosis]:
    """Yield a finding for each signer whose key the user does not trust, with what they signed."""
    by_signer = defaultdict[str, list[_Item]](list)
    for item in items:
        if item.signature.code in {"unknown-key", "foreign-key"}:
            by_signer[item.signature.signer].append(item)
    for signer, signed in by_signer.items():
        owner = signed[0].signature.owner
        who = f"signed by {owner!r} (its own claim), key {signer}" if owner else f"signed with key {signer}"
        fix = "rye trust add FILE, the trust file of whoever holds that key; compare the fingerprint first"
        names = tuple(dict.fromkeys(item.ref for item in signed))
        yield Diagnosis("unknown-signer", names, f"{CODES['unknown-signer']}: {who}", fix, signed[0].file)


def _tampered(items: Iterable[_Item]) -> Iterator[Diagnosis]:
    """Yield one finding for what is not as it was signed."""
    if changed := [item for item in items if item.signature.verdict is Verdict.TAMPERED]:
        names = tuple(dict.fromkeys(item.ref for item in changed))
        fix = "do not use it; rye verify says what differs and what to do"
        yield Diagnosis("tampered", names, CODES["tampered"], fix, changed[0].file)


def _sources(copies: Sequence[_Item]) -> Iterator[Diagnosis]:
    """Yield skills without a signature or lock entry, and skills that differ from their lock entry."""
    unknown = [
        item
        for item in copies
        if item.signature.verdict is Verdict.UNSIGNED and not installed_from(item.root, item.read)
    ]
    if unknown:
        names = tuple(dict.fromkeys(item.ref for item in unknown))
        message = f"{CODES['unaccounted']}: {len(names)} of {len({item.ref for item in copies})} skills"
        yield Diagnosis("unaccounted", names, message, "rye init signs your own", unknown[0].file)
    beside = defaultdict[Path, dict[Root, None]](dict)
    for item in copies:
        beside[item.root.around][item.root] = None
    for folder, roots in beside.items():
        for path in RECORDS:
            try:
                read_lock(folder, path)
            except ItemError as error:
                yield Diagnosis("unreadable", (), error.message, error.hint, str(folder / path))
        projects = [root for root in roots if root.space is Space.PROJECT]
        with suppress(ItemError):
            for problem in compare_lock(folder, projects) if projects else ():
                fix = "compare it with its source, and install it again"
                yield Diagnosis(problem.code, (), problem.message, fix, str(folder / problem.path))
