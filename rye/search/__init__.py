"""Search: turns a request over an index into a page of hits.

A search runs through this room in one direction. :mod:`request` checks the arguments. :mod:`rewrite` parses the query
and says how it may be relaxed. :mod:`bind` and :mod:`binder` resolve its names. :mod:`engine` tries the stages on the
index, which :mod:`backend` wraps: :mod:`expand` finds the terms of each word, :mod:`term` and :mod:`positions` the
documents with those terms, :mod:`score` combines and scores, :mod:`order` sorts, and :mod:`page` reads and verifies the
files of the hits shown::

    response = Search(make_request("thread NEAR/5 orchestrator", options), context).run()
"""

__all__ = ["engine", "request"]  # modules, each loaded when it is first needed
