"""Search: a request over an index becomes a page of hits.

A search runs through this room in one direction: :mod:`request` checks the arguments, :mod:`rewrite` parses the query
and says how it may be relaxed, :mod:`bind` and :mod:`binder` give names their meaning, and :mod:`engine` tries the
stages on the index as :mod:`backend` sees it: :mod:`expand` finds the terms that words stand for, :mod:`term` and
:mod:`positions` the documents that have them, :mod:`score` combines and scores, :mod:`order` sorts, :mod:`page` reads
and verifies the files of what is shown::

    response = Search(make_request("thread NEAR/5 orchestrator", options), context).run()
"""

__all__ = ["engine", "request"]  # modules, each loaded when it is first needed
