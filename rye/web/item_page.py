"""The page of an item: content, verdict, relations, and commands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from rye._text import quote
from rye.errors import ArgumentError, ItemError, RyeError
from rye.options.model import refuse
from rye.spaces.read import skill_of
from rye.surface.hits import is_markdown_file, without_marks
from rye.surface.text import remedy, signed_by, source_name, warning_notes
from rye.web.address import Visit, WebPage, item_address, read_arguments
from rye.web.markup import MAX_LINES, MAX_RENDERED, LinkedItem, code_lines, rendered

if TYPE_CHECKING:
    from rye.registry.relations import Relations
    from rye.registry.reports import LoadedItem

MAX_COMPARED = 5_000
"""Lines of a file that can be compared with another."""

_LONE_RETURN = re.compile(r"\r(?!\n)")
"""A carriage return alone ends a line for everything that counts lines of items, so it does here, and is shown."""

_OWN = ("space", "view", "line")
_SIDES = ("old", "new")
_SIMILAR = 5
_DRAWN = 12
"""Relations on each side of the drawing."""


def make(visit: Visit) -> WebPage:
    """Return the page of an item.

    Raises:
        RyeError: There is no such item, its file cannot be read, or an argument is unknown.
    """
    read_arguments(dict, visit.pairs, own=_OWN)
    given, registry = dict.fromkeys(_OWN, "") | dict(visit.pairs), visit.registry
    if given["view"] not in ("", "raw"):
        refuse(("view",), "is", repr(given["view"]), "valid is raw")
    item = registry.get(f"{visit.path['kind']}:{visit.path['item_id']}", given["space"] or None)
    text = _LONE_RETURN.sub("\\\\x0d\n", item.content).rstrip("\n")
    lines = text.count("\n") + 1
    if given["line"] and not (given["line"].isdecimal() and 1 <= int(given["line"][:9]) <= lines):
        refuse(("line",), "is", repr(given["line"]), f"valid are the numbers of its lines, from 1 to {lines:,}")
    if visit.as_json:
        return WebPage("", item, {})
    advice = remedy(item)
    relations = _tried(lambda: registry.refs(item.ref, limit=100))
    similar = _tried(lambda: registry.similar(item.ref, limit=_SIMILAR))
    description = item.item.description
    return WebPage(
        "item.html",
        item,
        {
            "given": given,
            "lead": without_marks(description).text if is_markdown_file(item.path) else description,
            "content": _content(item, text, relations, given),
            "signed_by": signed_by(item.signature),
            "skill": _skill_folder(item) if item.signature.verdict == "trusted" else "",
            "remedy": advice.labelled(),
            "relations": relations,
            "graph": None if relations is None else _sides(relations),
            "similar": similar,
            "commands": _commands(item, advice.command),
            "notes": list(warning_notes(item.warnings)),
            "copies": _copies(item),
        },
    )


class Difference(NamedTuple):
    """The lines in which two copies of an item differ, with context, as in ``diff -u``."""

    old: LoadedItem
    new: LoadedItem
    lines: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the spaces and verdicts of both, and the lines."""
        sides = {
            name: {"space": copy.space, "bundle": copy.bundle, "path": copy.path, "signature": copy.signature.to_dict()}
            for name, copy in (("old", self.old), ("new", self.new))
        }
        return {"item": self.new.ref, **sides, "lines": list(self.lines)}


def make_diff(visit: Visit) -> WebPage:
    """Return the difference between two copies of an item, in the spaces ``old`` and ``new``.

    Raises:
        RyeError: A space is not named, has no copy, or the copy is too long.
    """
    read_arguments(dict, visit.pairs, own=_SIDES)
    given = dict.fromkeys(_SIDES, "") | dict(visit.pairs)
    if missing := [name for name in _SIDES if not given[name]]:
        hint = "give old=SPACE and new=SPACE, such as old=user and new=project"
        message = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        raise ArgumentError("missing-argument", message, hint=hint)
    old, new = (visit.registry.get(f"{visit.path['kind']}:{visit.path['item_id']}", given[name]) for name in _SIDES)
    sides = [copy.content.splitlines() for copy in (old, new)]
    if max(map(len, sides)) > MAX_COMPARED:
        message = f"{new.ref} has more than {MAX_COMPARED:,} lines"
        raise ItemError("too-many-lines", message, hint="compare the files with diff")
    titles = [f"{source_name(copy.space, copy.bundle, copy.folder)} {copy.item.version}".strip() for copy in (old, new)]
    lines = tuple(unified_diff(sides[0], sides[1], titles[0], titles[1], lineterm=""))
    return WebPage("diff.html", Difference(old, new, lines), {"ref": new.ref, "given": given})


def _tried(work: Any) -> Any:
    """Return the result of a function; None if it raises an error of rye, so that the rest of the page is shown."""
    try:
        return work()
    except RyeError:
        return None


def _skill_folder(item: LoadedItem) -> str:
    """Return the folder of the item's skill, if the skill is signed as a whole."""
    folder = skill_of(item.root, item.file.rel_path)
    return str(item.root.path / folder) if folder else ""


def _copies(item: LoadedItem) -> list[tuple[str, str, str, str]]:
    """Return each other copy: whether it is shadowed, its source, its page and the page of the difference."""
    return [
        (
            word,
            source,
            item_address(item.ref, space=source),
            item_address(item.ref, page="diff", old=source, new=source_name(item.space, item.bundle, item.folder)),
        )
        for word, sources in (("shadows", item.shadows), ("shadowed by", item.shadowed_by))
        for source in sources
    ]


class Content(NamedTuple):
    """The text of an item on its page.

    Attributes:
        html: The text, rendered or as numbered lines.
        first: The first line shown.
        lines: Number of lines of the text.
        is_rendered: Whether it is shown as rendered Markdown, and then completely.
        can_be_rendered: Whether it could be.
        address: Address of the raw text, to which a line number can be appended.
    """

    html: Markup
    first: int
    lines: int
    is_rendered: bool
    can_be_rendered: bool
    address: str

    @property
    def last(self) -> int:
        """The last line shown."""
        return self.lines if self.is_rendered else min(self.first + MAX_LINES - 1, self.lines)

    def at(self, line: int, *, is_heading: bool = False) -> str:
        """Return the address of a line: on this page if it is shown, else in the raw text."""
        here = is_heading if self.is_rendered else self.first <= line <= self.last
        return f"#L{line}" if here else f"{self.address}{line}#L{line}"


def _content(item: LoadedItem, text: str, relations: Relations | None, given: Mapping[str, str]) -> Content:
    """Return the text of an item, rendered if it is Markdown; its front matter is shown unrendered above it.

    Args:
        item: The item.
        text: Its text with line feeds as line ends.
        relations: Its references.
        given: ``space``, and ``view`` and ``line`` of the raw text.
    """
    lines, first = text.split("\n"), item.item.body_line
    is_short = len(text) <= MAX_RENDERED and first <= MAX_LINES
    can_be_rendered = is_markdown_file(item.path) and is_short
    address = item_address(item.ref, space=given["space"], line="1").removesuffix("1")
    head, body = "\n".join(lines[: first - 1]), "\n".join(lines[first - 1 :])
    drawn = None
    if can_be_rendered and not given["view"] and not given["line"]:
        targets = {} if relations is None else dict(_targets(relations))
        drawn = rendered(body, first=first, targets=targets)
        can_be_rendered = drawn is not None
    if drawn is None:
        begin = (int(given["line"] or 1) - 1) // MAX_LINES * MAX_LINES + 1
        html = code_lines(text, PurePosixPath(item.path).suffix.removeprefix("."), first=begin)
        return Content(html, begin, len(lines), False, can_be_rendered, address)
    above = Markup("<details><summary>Signature and metadata</summary>%s</details>")
    html = above % code_lines(head, "yaml") if head.strip() else Markup("")
    return Content(html + drawn, 1, len(lines), True, True, address)


def _targets(relations: Relations) -> Iterator[tuple[str, LinkedItem]]:
    verdicts = {relation.ref: relation.verdict for relation in relations.items}
    for relation in relations.relations:
        if relation.target and relation.item == relations.item:
            yield relation.written, LinkedItem(item_address(relation.target), verdicts.get(relation.target, "unread"))


def _sides(relations: Relations) -> dict[str, Any]:
    """Return the incoming and the outgoing relations of the item, each other end once."""
    outgoing, incoming = dict[str, Any](), dict[str, Any]()
    for relation in relations.relations:
        if relation.item == relations.item:
            outgoing.setdefault(relation.target or relation.written, relation)
        elif relation.target == relations.item:
            incoming.setdefault(relation.item, relation)
    return {
        "in": list(incoming.items()),
        "out": list(outgoing.items()),
        "drawn": _DRAWN,
        "rows": max(min(max(len(incoming), len(outgoing)), _DRAWN), 1),
    }


def _commands(item: LoadedItem, fix: str) -> list[tuple[str, str]]:
    space = f" --space {quote(source_name(item.space, item.bundle, item.folder))}" if item.shadowed_by else ""
    ref, named = quote(item.ref), json.dumps({"item": item.ref}, ensure_ascii=False)
    decide = [("Trust its signer, after you have checked who that is", fix)] if fix.startswith("rye trust ") else []
    return [
        ("Show it", f"rye show {ref}{space}"),
        ("Verify it", f"rye verify {ref}"),
        *decide,
        ("List its references", f"rye refs {ref}"),
        ("Load it, as an agent", f"rye_load {named}"),
        ("Verify it, as an agent", f"rye_verify {named}"),
    ]
