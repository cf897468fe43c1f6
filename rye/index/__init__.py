"""The only writer and reader of Whoosh: schema, analysis, codec, build, refresh, snapshot.

An index belongs to one space root and is shared by every project that sees it. Whoosh owns its folder, schema, segment
list, generations, write lock and deletions; each segment is one file of memory-mapped numpy arrays. What files say goes
in through :class:`rye.index.refresh.SpaceIndex`; what queries read comes out through :class:`rye.index.reader.Reader`::

    index = SpaceIndex(root, folder)
    snapshot = index.refresh().snapshot
    tools = Reader([(root, snapshot)]).having("type", "tool")
"""
