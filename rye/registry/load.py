"""One item, read and verified from its bytes, with the copies in other spaces that it shadows or is shadowed by."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rye._report import Report
from rye.errors import ArgumentError, EnvironmentFault, ItemError
from rye.index.reader import Reader
from rye.index.schema import TYPE_NAMES
from rye.items.model import ItemType
from rye.registry.lookup import find_item, reading
from rye.registry.reports import LoadedItem
from rye.search.predicates import States
from rye.spaces.discover import check_writable
from rye.spaces.lists import warn_beside
from rye.spaces.model import Root, Space
from rye.spaces.read import is_detached, read_file
from rye.spaces.signed import ReadItem, read_item, read_signed
from rye.spaces.skills_lock import locked_source
from rye.trust.judge import judge
from rye.trust.line import DETACHED_SUFFIX
from rye.trust.trust_set import TrustSet
from rye.trust.trust_store import system_clock


def load_item(
    reader: Reader, trust: TrustSet, name: str, space: str | None = None, *, read: Callable[..., ReadItem] = read_item
) -> LoadedItem:
    """Read one item and verify exactly the bytes returned.

    Args:
        reader: Over all spaces.
        trust: The trusted keys.
        name: ``type:id``, or an id that only one type has.
        space: Where to look; None and ``all`` take the highest-priority space that has it.
        read: Reads a file as :func:`rye.spaces.signed.read_item` does.

    Raises:
        ArgumentError, NotFoundError: As :func:`rye.registry.lookup.find_item`.
        ItemError: The file cannot be read as an item, or several files of one space are this item.
    """
    found = find_item(reader, name, "all" if space is None else space)
    part, local = found[0]
    kind, item_id = TYPE_NAMES[part.segment.types[local]], part.segment.ids[local]
    paths = sorted(each.segment.paths[number] for each, number in found if each.root is part.root)
    if len(paths) > 1:
        message = f"{kind} {item_id!r} is in {len(paths)} files of {part.root.source}: {', '.join(paths)}"
        hint = "keep one of them; it is not clear which one is meant"
        raise ItemError("ambiguous-item", message, hint=hint, paths=paths)
    found_item = read(part.root, paths[0], ItemType(kind), item_id)
    now = system_clock()
    states = States(reader, reader, lambda: trust, now)
    shadows, shadowed_by = states.sharing(states.sources_of(kind, item_id, part), part.root.source)
    withdrawn, successor = states.withdrawn(part.base + local)
    runs = kind == "tool" or part.root.describe(paths[0])[0] == "skill"
    return LoadedItem(
        item=found_item.item,
        space=part.root.space,
        bundle=part.root.bundle,
        path=str(part.root.path / paths[0]),
        content=_text(found_item.data),
        folder=part.root.folder,
        installed_from=_installed_from(part.root, item_id),
        signature=judge(found_item.evidence, origin=found_item.origin, trust=trust, now=now),
        shadows=shadows,
        shadowed_by=shadowed_by,
        states=withdrawn,
        successor=successor,
        warnings=(
            *reading(name, f"{kind}:{item_id}"),
            *(states.hiding(kind, item_id) if shadows or shadowed_by else ()),
            *states.successor_warnings(part.base + local),
            *filter(None, [found_item.item.note]),
            *(warn_beside(part.root, paths[0]) if runs else ()),
        ),
    )


def _installed_from(root: Root, item_id: str) -> str:
    is_installed = root.has_skills and root.space is Space.PROJECT
    return locked_source(root.around, item_id) if is_installed else ""


def _text(data: bytes) -> str:
    """Return the text of an item's file; its signature line, which is no part of the item, may be no UTF-8."""
    return data.decode("utf-8-sig", "backslashreplace")


_SPACES = ("project", "user")


@dataclass(frozen=True, slots=True)
class CopiedItem(Report):
    """Where a copy is; ``written`` is False where the same file was there already."""

    space: str
    path: str
    written: bool


def copy_item(loaded: LoadedItem, roots: Sequence[Root], to: str) -> CopiedItem:
    """Copy the file of an item to the same place in another space; nothing that is there is ever overwritten.

    Args:
        loaded: The item; its file must still be what was loaded.
        roots: All spaces.
        to: ``project`` or ``user``.

    Raises:
        ArgumentError: ``bad-copy-to``.
        ItemError: ``copy-exists``, ``changed-meanwhile``, or the file cannot be read.
        EnvironmentFault: ``copy-failed``, ``project-elsewhere``.
    """
    targets = [root for root in roots if root.space == to and to in _SPACES]
    if not targets:
        valid = [str(root.space) for root in roots if root.space in _SPACES]
        raise ArgumentError("bad-copy-to", f"copy_to is {to!r}", hint=f"valid are {', '.join(valid)}", valid=valid)
    if loaded.path.startswith("opensearch+"):
        raise ArgumentError(
            "bad-copy-to", f"{loaded.ref} is on a cluster", hint="copy it from the spaces: --index none"
        )
    source = next(
        root for root in roots if root.space == loaded.space and root.bundle == loaded.bundle and not root.client
    )
    if not Path(loaded.path).is_relative_to(source.path):
        message = f"{loaded.ref} is a file of another client: {loaded.path}"
        raise ArgumentError("bad-copy-to", message, hint="rye import takes such files into .ai")
    rel_path = Path(loaded.path).relative_to(source.path).as_posix()
    check_writable(targets[0], [rel_path])
    data, detached = read_signed(source, rel_path)
    if _text(data) != loaded.content:
        raise ItemError("changed-meanwhile", f"{rel_path} has changed since it was loaded", hint="load it again")
    place, signature = targets[0].path / rel_path, f"{rel_path}{DETACHED_SUFFIX}"
    if isinstance(detached, bytes):  # first: an item that came without it would be unsigned
        write_new(targets[0], signature, detached)
    elif is_detached(rel_path) and os.path.lexists(targets[0].path / signature):
        raise _exists(targets[0], signature)
    return CopiedItem(to, str(place), write_new(targets[0], rel_path, data))


def write_new(root: Root, rel_path: str, data: bytes) -> bool:
    """Write a new file below a root, through no link; return False where the same bytes are there."""
    place = root.path / rel_path
    check_place(root, rel_path)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        check_place(root, rel_path)
        with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as stream:
            stream.write(data)
    except FileExistsError:
        if place.is_file() and read_file(root, rel_path) == data:
            return False
        raise _exists(root, rel_path) from None
    except OSError as error:
        message = f"{rel_path} cannot be written to {root.source}: {error.strerror}"
        raise EnvironmentFault("copy-failed", message, hint="check permissions and free space") from None
    return True


def _exists(root: Root, rel_path: str) -> ItemError:
    hint = "remove or rename it first; a copy overwrites nothing"
    return ItemError("copy-exists", f"{root.source} has another file {rel_path}", hint=hint)


def check_place(root: Root, rel_path: str) -> None:
    """Refuse a place whose folder, as far as it is there, is reached through a link that leads out of the space."""
    place = root.path / rel_path
    there = next(folder for folder in place.parents if os.path.lexists(folder))
    try:
        inside = root.path.is_relative_to(there) or there.resolve().is_relative_to(root.path.resolve())
    except (OSError, RuntimeError):  # a cycle of links
        inside = False
    if not inside:
        raise ItemError("link-escape", f"{rel_path} would lie outside its space", hint="remove the link above it")
