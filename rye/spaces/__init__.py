"""spaces: where items live, which files are items, and which of two items with the same id comes first.

A space root is a folder that holds ``directives``, ``tools`` and ``knowledge``: the ``.ai`` of a project, of the user,
or of a bundle. This room finds the roots, walks them and reads single files. It never follows a link out of a root and
never imports or runs code in a space.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rye.spaces.discover import project_root
    >>> from rye.spaces.walk import list_items
    >>> with TemporaryDirectory() as folder:
    ...     tools = Path(folder, ".ai", "tools", "ops")
    ...     tools.mkdir(parents=True)
    ...     _ = (tools / "backup.sh").write_text("# Back up")
    ...     files, problems = list_items(project_root(Path(folder)))
    >>> [(file.item_id, file.suffix, file.rel_path) for file in files], problems
    ([('ops/backup', '.sh', 'tools/ops/backup.sh')], ())
"""
