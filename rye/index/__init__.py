"""The index: terms, storage format, build, refresh, snapshots. Only this room uses Whoosh.

An index belongs to one space root and is shared by every project that sees it. Whoosh defines its folder, schema,
segment list, generations, write lock and deletions. Each segment is one file of memory-mapped numpy arrays. The folders
of this room, each of which imports only those before it:

- ``storage``: arrays and strings in checked files.
- ``text``: texts to terms, items to columns.
- ``segment``: one segment: its columns, postings, references and the evidence of its signatures.
- ``build``: :mod:`refresh` indexes what changed, :mod:`merge` and :mod:`store` commit it, :mod:`reader` reads all
  segments as one.
- ``vectors``: what search by meaning compares.

Files are indexed by :class:`rye.index.build.refresh.SpaceIndex`; queries read through
:class:`rye.index.build.reader.Reader`::

    index = SpaceIndex(root, folder)
    snapshot = index.refresh().snapshot
    tools = Reader([(root, snapshot)]).having("type", "tool")
"""
