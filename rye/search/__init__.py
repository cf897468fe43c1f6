"""Bind an AST to fields, expand it over the dictionary, evaluate it on arrays, score, page, highlight, explain.

A search runs through this room in one direction: :mod:`request` checks the arguments, :mod:`query_plan` turns text into
the queries of each relaxation stage, :mod:`bind` gives names their meaning, :mod:`expand` and :mod:`leaves` find
postings, :mod:`evaluate` combines and scores them, :mod:`order` sorts, :mod:`page` reads and verifies what is shown::

    response = Search(make_request("thread NEAR/5 orchestrator", options), world).run()
"""

__all__ = ["engine", "request"]  # modules, each loaded when it is first needed
