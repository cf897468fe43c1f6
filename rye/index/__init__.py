"""The index: schema, analysis, storage format, build, refresh, snapshots. Only this room uses Whoosh.

An index belongs to one space root and is shared by every project that sees it. Whoosh defines its folder, schema,
segment list, generations, write lock and deletions. Each segment is one file of memory-mapped numpy arrays. Files are
indexed by :class:`rye.index.refresh.SpaceIndex`; queries read through :class:`rye.index.reader.Reader`::

    index = SpaceIndex(root, folder)
    snapshot = index.refresh().snapshot
    tools = Reader([(root, snapshot)]).having("type", "tool")
"""
