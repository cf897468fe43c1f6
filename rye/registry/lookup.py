"""Find the documents of an item by name, and explain why one is a hit.

A name is ``type:id``, or an id that only one type has. All lookups use one reader, so finding an item costs one scan of
the spaces, also if it does not exist.
"""

# ruff: noqa: PTH100, PTH117 - links stay as they are, and a text need not be a path

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from rye._files import real_path
from rye.errors import ArgumentError, NotFoundError
from rye.index.build.reader import Part, Reader
from rye.items.clients import SKILL_FILE
from rye.items.model import TYPE_NAMES
from rye.items.names import Spelling, read_reference, spellings
from rye.options.model import check, parameters_of
from rye.options.search import SpaceOptions
from rye.spaces.model import Root, is_within
from rye.spaces.walk import aliased

if TYPE_CHECKING:
    from rye.search.contract.request import Request
    from rye.search.explain import Explainer, Why

_SEARCH = "rye search finds items by what they say"
_NAMED = 3
"""Maximum similar names in an error."""
_SIMILARITY = 0.6
"""Minimum similarity (0 to 1) of a suggested id."""


def check_space(space: str) -> None:
    """Raise ArgumentError ``bad-space`` unless the text is ``all`` or a space."""
    check(parameters_of(SpaceOptions)["space"], space)


def find_item(reader: Reader, name: str, space: str = "all") -> list[tuple[Part, int]]:
    """Return every document of the item that a name means, highest priority first.

    If no item has the name, other spellings are tried: ``@type:id``, ``id.py``, ``skill:NAME``, ``skill://SPACE/ID``,
    the path of a file, a link to one, or the last part of an id that only one item has.

    Args:
        reader: A reader over all spaces, so that an error can say where else the item is.
        name: ``type:id``, or an id that only one type has.
        space: Where to look: ``all``, a space, or a source such as ``system:acme``.

    Raises:
        ArgumentError: ``bad-item``; ``bad-type``; ``bad-space``; ``ambiguous-item`` if the name fits several items.
        NotFoundError: ``item-not-found``; the hint says where the item is, or lists the most similar names.
    """
    try:
        return _find(reader, name, space)
    except (ArgumentError, NotFoundError) as error:
        if error.code not in ("bad-type", "item-not-found") or "elsewhere" in error.details:
            raise
        problem: ArgumentError | NotFoundError = error
    name, elsewhere = name.strip(), dict[str, str]()
    of_format, place = read_reference(name).meanings, path_on_disk(name)
    fallbacks = (*spellings(name), *_below_roots(reader, name), *_aliased(reader, name))
    for spelling in _at_place(reader, place) if place else (Spelling(name), *fallbacks):
        try:
            matches = _find(reader, spelling.name, space)
        except (ArgumentError, NotFoundError) as failed:
            if failed.code == "ambiguous-item":
                raise
            problem = failed if spelling in of_format[:1] else problem
            continue
        if documents := [document for document in matches if _fits(*document, spelling)]:
            return documents
        elsewhere |= {part.root.source: spelling.name for part, _ in matches} if spelling in of_format else {}
    if place:
        raise NotFoundError("item-not-found", f"there is no item at {place}", hint=_SEARCH)
    if elsewhere:
        hint = "; ".join(f"{other} is in {source}" for source, other in elsewhere.items())
        raise NotFoundError("item-not-found", f"there is no {name}", hint=hint, elsewhere=list(elsewhere))
    if not of_format and (last := _by_last_part(reader, name)):
        return _find(reader, last, space)
    raise problem


def path_on_disk(text: str) -> str:
    """Return the absolute path if the text is one or names an existing file here; else an empty text."""
    if "\0" in text or not ("/" in text or os.sep in text or "." in text):
        return ""
    path = os.path.expanduser(text)
    if not os.path.lexists(path) and os.path.lexists(file := os.path.expanduser(read_reference(text).path)):
        path = file
    return os.path.abspath(path) if os.path.isabs(path) or os.path.lexists(path) else ""


def _fits(part: Part, local: int, spelling: Spelling) -> bool:
    """Return whether an item's file has the extension, format and place that a spelling requires."""
    root, path = part.root, part.segment.paths[local]
    places = ("", root.source, str(root.space), ":".join(filter(None, (root.space, root.bundle))))
    is_such = spelling.format in ("", root.describe(path)[0])
    return is_such and spelling.source in places and path.casefold().endswith(spelling.suffix)


def _at_place(reader: Reader, place: str) -> Iterator[Spelling]:
    """Yield the item of the file, or of the skill folder, at an absolute path."""
    for root, _ in reader.snapshots:
        bases = {os.path.abspath(root.path): place, real_path(root.path): real_path(place)}
        for base, path in bases.items():
            if is_within(path, base) and path != base:
                yield from _of_file(root, Path(path).relative_to(base).as_posix())


def _below_roots(reader: Reader, text: str) -> Iterator[Spelling]:
    """Yield the item whose path ends with a relative path, such as one from an answer about another folder."""
    parts = [part for part in text.replace("\\", "/").split("/") if part not in ("", ".")]
    if len(parts) < 2 or ".." in parts or "://" in text:
        return
    for root, _ in reader.snapshots:
        base = root.path.as_posix()
        for at in range(len(parts)):
            if not at or base.endswith("/" + "/".join(parts[:at])):
                yield from _of_file(root, "/".join(parts[at:]))


def _of_file(root: Root, rel: str) -> Iterator[Spelling]:
    """Yield the item at a path below a root."""
    if file := root.find(rel) or (root.find(f"{rel}/{SKILL_FILE}") if root.has_skills else None):
        yield Spelling(f"{file.item_type}:{file.item_id}", PurePosixPath(file.rel_path).suffix, root.source)


def _aliased(reader: Reader, name: str) -> Iterator[Spelling]:
    """Yield the item that a link with this name leads to."""
    reference = read_reference(name)
    kinds = {"item": (reference.type,), "text": TYPE_NAMES}.get(reference.form, ())
    if file := aliased([root for root, _ in reader.snapshots], kinds, reference.ids[0]):
        yield Spelling(f"{file[1].item_type}:{file[1].item_id}")


def _by_last_part(reader: Reader, name: str) -> str:
    """Return ``type:id`` of the item whose id ends with this part; empty if there is none.

    Raises:
        ArgumentError: ``ambiguous-item``: there are several.
    """
    reference = read_reference(name)
    end, start = f"/{reference.ids[0]}", f"{reference.type}:" if reference.type else ""
    names = [key for key in dict.fromkeys(reader.all_keys()) if key.endswith(end) and key.startswith(start)]
    if len(names) > 1:
        raise _ambiguous(name, names)
    return names[0] if names else ""


def _ambiguous(name: str, names: Sequence[str]) -> ArgumentError:
    named = " or ".join(names[:_NAMED])
    hint = f"name the one you mean: {named}{', or one of the others' if len(names) > _NAMED else ''}"
    return ArgumentError("ambiguous-item", f"{name!r} names {len(names)} items", hint=hint, candidates=list(names))


def reading(name: str, item: str) -> tuple[str, ...]:
    """Return a warning that a name was read as a reference to ``type:id``; nothing if the name is exact."""
    return () if name in (item, item.partition(":")[2]) else (f"read as a reference to {item}",)


def _find(reader: Reader, name: str, space: str) -> list[tuple[Part, int]]:
    """Return the documents of an item by its exact name; raises the errors of :func:`find_item`."""
    given: object = name
    if not isinstance(given, str) or not given.strip():
        raise ArgumentError("bad-item", f"item is {name!r}", hint="name it as type:id, or by its id")
    form, item_type, (item_id, *_), *_ = read_reference(name)
    if form not in {"item", "text"}:
        message, hint = f"item type is {name.partition(':')[0]!r}", f"valid are {', '.join(TYPE_NAMES)}"
        raise ArgumentError("bad-type", message, hint=hint, valid=list(TYPE_NAMES))
    if space not in [root.source for root, _ in reader.snapshots]:
        check_space(space)
    anywhere = {kind: list(reader.having_key(kind, item_id)) for kind in ((item_type,) if item_type else TYPE_NAMES)}
    matches = {
        kind: in_space
        for kind, documents in anywhere.items()
        if (
            in_space := [
                document for document in documents if space in ("all", document[0].root.space, document[0].root.source)
            ]
        )
    }
    if len(matches) > 1:
        names = [f"{kind}:{item_id}" for kind in TYPE_NAMES if kind in matches]
        raise _ambiguous(item_id, names)
    for documents in matches.values():
        return documents
    for kind, documents in anywhere.items():
        if documents:
            elsewhere = list(dict.fromkeys(part.root.source for part, _ in documents))
            message = f"there is no {kind} {item_id!r} in space {space}"
            hint = f"it is in {', '.join(elsewhere)}; look there, or in all spaces"
            raise NotFoundError("item-not-found", message, hint=hint, elsewhere=elsewhere)
    for root, snapshot in reader.snapshots:
        for problem in snapshot.file_list.problems:
            if f"/{problem.path}".rpartition(".")[0].endswith(f"/{item_id}"):
                message = f"{item_type or 'item'} {item_id!r} cannot be read: {root.source}: {problem.message}"
                raise NotFoundError(
                    "item-not-found", message, hint="rye verify lists what cannot be read", elsewhere=()
                )
    nearest = nearest_names(item_id, reader.all_keys(), item_type)
    hint = f"did you mean {' or '.join(nearest)}?" if nearest else _SEARCH
    raise NotFoundError("item-not-found", f"there is no {item_type or 'item'} {item_id!r}", hint=hint, nearest=nearest)


def nearest_names(item_id: str, names: Iterable[str], item_type: str = "") -> list[str]:
    """Return up to three of the ``type:id`` names whose ids are most similar to one, ignoring case, best first.

    Args:
        item_id: The id to compare with.
        names: ``type:id`` of the existing items.
        item_type: The preferred type if several items have the same id.
    """
    folded = item_id.casefold()
    by_id: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        by_id.setdefault(name.partition(":")[2].casefold(), []).append(name)
    ids = get_close_matches(folded, list(by_id), n=_NAMED, cutoff=_SIMILARITY)
    ids.sort(key=lambda other_id: (-SequenceMatcher(None, other_id, folded).ratio(), other_id))
    groups = (sorted(by_id[other_id], key=lambda name: (name.partition(":")[0] != item_type, name)) for other_id in ids)
    return [name for names in groups for name in names][:_NAMED]


def why_of(
    copies: Sequence[tuple[Part, int]],
    request: Request,
    item: str,
    explain: Callable[[Request], Explainer],
) -> Why:
    """Return why an item is or is not a hit of a search.

    Args:
        copies: The documents that :func:`find_item` returned; the first one in a searched space is explained.
        request: The search.
        item: The name that the caller used.
        explain: Returns an explainer for a search.

    Raises:
        ArgumentError: An argument is not valid.
        QueryError: The query is not valid.
    """
    from rye.search.explain import MissReason

    explainer = explain(request)
    searched = [(part, local) for part, local in copies if request.space in ("all", part.root.space)]
    if searched:
        why = explainer.explain(*searched[0])
    else:
        part, local = copies[0]
        wide = explain(request._replace(space="all")).explain(part, local)
        message = f"it is in {part.root.source}, and {request.space} space was searched"
        reasons_elsewhere = (reason for reason in wide.reasons if reason.code != "stage")
        reasons = (MissReason("space", request.space, message), *reasons_elsewhere)
        stage, total = explainer.stage, explainer.total
        why = replace(wide, stage=stage, total=total, rank=None, hit=None, reasons=reasons)
    read_as = reading(item, f"{why.type}:{why.id}")
    return replace(why, warnings=(*read_as, *why.warnings))
