"""Search: a request over an index becomes a page of hits.

A search runs through this room in one direction: :mod:`request` checks the arguments, :mod:`rewrite` parses the query
and says how it may be relaxed, :mod:`bind` gives names their meaning, and :mod:`engine` tries the stages on a
:mod:`backend`. The one of this machine is :mod:`embedded`: :mod:`expand` finds the terms that words stand for,
:mod:`leaf` and :mod:`positions` the documents of a segment that have them, :mod:`match` joins segments, :mod:`score`
combines and scores, :mod:`order` sorts, :mod:`page` reads and verifies the files of what is shown::

    response = LocalSearch(make_request("thread NEAR/5 orchestrator", options), context).run()
"""

__all__ = ["local", "request"]  # modules, each loaded when it is first needed
