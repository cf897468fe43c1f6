"""A list of items against the items there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime

from rye.manifest.model import Finding, ListedItem

__all__ = ["compare"]


def compare(
    listed: Mapping[str, ListedItem], found: Iterable[ListedItem], unread: Collection[str] = ()
) -> tuple[Finding, ...]:
    """Return what differs, by path: each file that is not as listed gives one finding, a rename one for both paths.

    Nothing is said of what is listed at or below a path that could not be read.
    """
    here = {item.path: item for item in found}
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for item in listed.values():
        homes[item.sha256].append(item.path)
    findings = [_changed(listed[path], item, homes) for path, item in here.items() if path in listed]
    gone = {path for path in listed if path not in here and not _below(path, unread)}
    findings += _unlisted([item for path, item in here.items() if path not in listed], gone, homes)
    findings += [_finding("item-removed", listed[path], f"{path} is listed, but not there") for path in gone]
    return tuple(sorted((each for each in findings if each is not None), key=lambda each: (each.path, each.code)))


def _below(path: str, others: Collection[str]) -> bool:
    parts = path.split("/")
    return bool(others) and any("/".join(parts[:count]) in others for count in range(1, len(parts) + 1))


def _finding(code: str, item: ListedItem, message: str) -> Finding:
    return Finding(code, message, item.path, item.item_type, item.item_id, item.sha256)


def _changed(listed: ListedItem, item: ListedItem, homes: Mapping[str, list[str]]) -> Finding | None:
    if (item.sha256, item.length) == (listed.sha256, listed.length):
        if (item.item_type, item.item_id) == (listed.item_type, listed.item_id):
            return None
        words = f"{item.path} is listed as {listed.item_type}:{listed.item_id}"
        return _finding("item-mislabelled", item, words)
    if others := homes.get(item.sha256):
        return _finding("item-swapped", item, f"{item.path} has the content that is listed for {', '.join(others)}")
    if _earlier(item.signed_at, listed.signed_at):
        words = f"{item.path} was signed at {item.signed_at}, the one listed at {listed.signed_at}"
        return _finding("item-rolled-back", item, words)
    return _finding("item-changed", item, f"{item.path} is not the content that is listed")


def _unlisted(items: list[ListedItem], gone: set[str], homes: Mapping[str, list[str]]) -> Iterator[Finding]:
    """Yield a finding per item that is not listed; a rename takes the listed path off those that are gone."""
    for item in items:
        others = homes.get(item.sha256, [])
        moved = next((path for path in others if path in gone), "")
        if moved:
            gone.discard(moved)
            yield _finding("item-renamed", item, f"{item.path} has the content that is listed for {moved}")
        elif others:
            yield _finding("item-copied", item, f"{item.path} is a copy of {', '.join(others)} and not listed")
        else:
            yield _finding("item-unlisted", item, f"{item.path} is not listed")


def _earlier(one: str, other: str) -> bool:
    try:
        return datetime.fromisoformat(one) < datetime.fromisoformat(other)
    except (ValueError, TypeError):  # not a time, or only one of them has a time zone
        return False
