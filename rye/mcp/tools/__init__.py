"""The tools of the server: each is a ``Tool`` in one of these files, and an entry in ``table``.

Example::

    TOOLS["rye_search"].run(work, {"query": "deploy"})
"""
