"""Verifying many items from their bytes, without the index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rye import signing, spaces
from rye.errors import ItemError
from rye.index.refresh import read_item
from rye.layout import Layout
from rye.reports import VerifiedItem, VerifyReport
from rye.spaces import FileStat, Root
from rye.targets import Target, read_targets


def verify_targets(
    texts: tuple[str, ...], layout: Layout, *, space: str = "all", named_trust: Sequence[Path] = ()
) -> VerifyReport:
    """Verify what the texts name.

    Args:
        texts: Paths, references or scopes; none means everything.
        layout: The spaces.
        space: Which of them to look in.
        named_trust: Trust files that count as the user's own.

    Returns:
        A verdict per item, each once, and a sentence for each file or target that could not be checked.

    Raises:
        ArgumentError: A text names nothing that could exist.
    """
    targets = read_targets(texts, layout, space)
    roots = {root.source: root for target in targets for root in target.roots}
    extended = replace(layout, roots=tuple(dict.fromkeys((*layout.roots, *roots.values()))))
    load = extended.load_trust(named_trust)
    now = signing.system_clock()
    items: list[VerifiedItem] = []
    problems: list[str] = []
    matched: set[str] = set()
    for root in extended.roots:
        if root.source not in roots:
            continue
        for file in _files(root, targets, matched, problems):
            try:
                read = read_item(root, file.rel_path, file.item_type, file.item_id)
            except ItemError as error:
                problems.append(error.message)
                continue
            signature = signing.judge(read.evidence, origin=read.origin, trust=load.trust, now=now)
            path = str(root.path / file.rel_path)
            items.append(VerifiedItem(str(file.item_type), file.item_id, root.space, root.bundle, path, signature))
    problems += [f"nothing matches {target.text!r}" for target in targets if texts and target.text not in matched]
    nothing = (load.emptiness,) if load.emptiness else ()
    return VerifyReport(tuple(items), tuple(problems), (*layout.warnings, *load.warnings, *nothing))


def _files(root: Root, targets: Sequence[Target], matched: set[str], problems: list[str]) -> Iterator[FileStat]:
    """Yield the files of a root that any target names, noting which targets did."""
    files, faults = spaces.walk(root)
    problems += [f"{root.source}: {fault.message}" for fault in faults]
    for file in files:
        naming = [target.text for target in targets if root in target.roots and target.accepts(root, file)]
        if naming:
            matched.update(naming)
            yield file
