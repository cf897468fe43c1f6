"""spaces: where items live, which files they are, and which of two with the same id comes first.

A space root is a folder that holds ``directives``, ``tools`` and ``knowledge``: the ``.ai`` of a project, of the user,
or of a bundle. This room finds the roots, walks them and reads single files, and never follows a link out of a root. Of
all code in a space only the callable that an *installed* bundle registers is ever run; folders are read statically.

    >>> import tempfile
    >>> from pathlib import Path
    >>> project = Path(tempfile.mkdtemp())
    >>> (project / ".ai" / "tools" / "ops").mkdir(parents=True)
    >>> _ = (project / ".ai" / "tools" / "ops" / "backup.sh").write_text("# Back up")
    >>> files, problems = walk(project_root(project))
    >>> [(str(file.item_type), file.item_id, file.rel_path) for file in files], problems
    ([('tool', 'ops/backup', 'tools/ops/backup.sh')], ())
"""

from __future__ import annotations

from rye.spaces.bundles import named_roots, system_roots
from rye.spaces.discover import find_project, project_root, user_root, user_space
from rye.spaces.model import FOLDER, SUFFIXES, FileStat, Root, Space
from rye.spaces.reading import read_file
from rye.spaces.walking import walk

__all__ = [
    "FOLDER",
    "SUFFIXES",
    "FileStat",
    "Root",
    "Space",
    "find_project",
    "named_roots",
    "project_root",
    "read_file",
    "system_roots",
    "user_root",
    "user_space",
    "walk",
]
