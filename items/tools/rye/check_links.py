"""Check that the items which other items refer to exist.

Two kinds of reference are read: the metadata keys ``references``, ``related``, ``requires``, ``extends``,
``supersedes`` and ``executor_id``, and every id that stands in the text between backticks, such as `rye/ci` or
`tool:rye/catalogue`. A reference may be an id, an id with its type, or the bare name of an item of the same category.
In texts, only ids in a folder that the registry has are looked at; file names and addresses are left alone.

Exit status: 0 every reference leads somewhere, 1 some lead nowhere, 2 error.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from rye import Registry
from rye.errors import RyeError

__version__ = "1.0.0"
__tool_type__ = "python"
__category__ = "rye"
__tool_description__ = "Check that the items which other items refer to exist, and list references that lead nowhere."

KEYS = ("references", "related", "requires", "extends", "supersedes", "executor_id")
MENTION = re.compile(r"`((?:(?:directive|tool|knowledge):)?[\w-]+(?:/[\w-]+)+)`")
NO_ITEM = re.compile(r"[a-z]+://|.*\.(?:md|py|sh|ya?ml|json|toml|html?|txt)$|.*\s")
PAGE = 100


def everything(registry: Registry, space: str, scope: str) -> Iterator[tuple[str, str, str]]:
    """Yield type, id and space of every item."""
    offset: int | None = 0
    while offset is not None:
        page = registry.search("*", scope=scope, space=space, limit=PAGE, offset=offset, include_superseded=True)
        yield from ((hit.type, hit.id, hit.source) for hit in page.results)
        offset = page.next_offset


def texts(value: object) -> Iterator[str]:
    """Yield every text in a metadata value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, Iterable):
        for inner in value:
            yield from texts(inner)


def references(metadata: Mapping[str, Any], body: str, folders: set[str]) -> Iterator[str]:
    """Yield every reference of one item."""
    for key in KEYS:
        yield from (text for text in texts(metadata.get(key)) if not NO_ITEM.match(text))
    for match in MENTION.finditer(body):
        if match[1].partition(":")[2].partition("/")[0] in folders or match[1].partition("/")[0] in folders:
            yield match[1]


def broken(registry: Registry, space: str, scope: str) -> Iterator[dict[str, str]]:
    """Yield every reference that leads nowhere, and the item that holds it."""
    every = chain(
        everything(registry, "all", "*"), everything(registry, "system", "*")
    )  # rye's own are in system alone
    known = {(item_type, item_id) for item_type, item_id, _ in every}
    ids = {item_id for _, item_id in known}
    targets = ids | {f"{item_type}:{item_id}" for item_type, item_id in known}
    folders = {item_id.partition("/")[0] for item_id in ids if "/" in item_id}
    for item_type, item_id, source in everything(registry, space, scope):
        loaded = registry.get(f"{item_type}:{item_id}", space=source)
        category = item_id.rpartition("/")[0]
        for target in dict.fromkeys(references(loaded.item.metadata, loaded.item.body, folders)):
            if target not in targets and f"{category}/{target}" not in ids:
                yield {"type": item_type, "id": item_id, "path": loaded.path, "target": target}


def main() -> int:
    """Run the tool and return its exit status."""
    parser = argparse.ArgumentParser(description=__tool_description__)
    parser.add_argument("--project", type=Path, help="default: found upwards from the working directory")
    parser.add_argument("--bundle", type=Path, action="append", help="a further bundle; repeatable")
    parser.add_argument("--space", default="all", help="check the items of this space (default: all)")
    parser.add_argument("--scope", default="*", help="check the items of this scope (default: *)")
    parser.add_argument("--json", action="store_true", help="answer as one JSON object")
    given = parser.parse_args()
    try:
        registry = Registry(given.project, bundles=given.bundle)
        found = list(broken(registry, given.space, given.scope))
    except RyeError as error:
        print(error, file=sys.stderr)
        return 2
    if given.json:
        print(json.dumps({"broken": found}, indent=2, ensure_ascii=False))
    else:
        for row in found:
            print(f"{row['type']}:{row['id']} refers to {row['target']}, which does not exist ({row['path']})")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
