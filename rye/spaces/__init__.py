"""spaces: where items live, which files they are, and which of two with the same id comes first.

A space root is a folder that holds ``directives``, ``tools`` and ``knowledge``: the ``.ai`` of a project, of the user,
or of a bundle. This room finds the roots, walks them and reads single files, and never follows a link out of a root. No
code in a space is ever imported or run.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     tools = Path(folder, ".ai", "tools", "ops")
    ...     tools.mkdir(parents=True)
    ...     _ = (tools / "backup.sh").write_text("# Back up")
    ...     files, problems = list_items(project_root(Path(folder)))
    >>> [(file.item_id, file.suffix, file.rel_path) for file in files], problems
    ([('ops/backup', '.sh', 'tools/ops/backup.sh')], ())
"""

from __future__ import annotations

from rye.spaces.bundles import is_own, named_bundle, named_roots, system_roots
from rye.spaces.discover import (
    NAMED_OTHERS,
    check_project,
    check_writable,
    client_of,
    client_roots,
    files_warning,
    find_project,
    owner_warning,
    project_root,
    user_root,
    user_space,
)
from rye.spaces.model import FOLDER, SUFFIXES, FileStat, ItemFile, Root, Space
from rye.spaces.nested import ProjectsBelow, look_below
from rye.spaces.read import FolderReader, read_file
from rye.spaces.walk import Walk, list_items, list_items_of, stat_items
from rye.trust.trust_entry import OWN

__all__ = [
    "FOLDER",
    "NAMED_OTHERS",
    "OWN",
    "SUFFIXES",
    "FileStat",
    "FolderReader",
    "ItemFile",
    "ProjectsBelow",
    "Root",
    "Space",
    "Walk",
    "check_project",
    "check_writable",
    "client_of",
    "client_roots",
    "files_warning",
    "find_project",
    "is_own",
    "list_items",
    "list_items_of",
    "look_below",
    "named_bundle",
    "named_roots",
    "owner_warning",
    "project_root",
    "read_file",
    "stat_items",
    "system_roots",
    "user_root",
    "user_space",
]
