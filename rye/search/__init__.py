"""Search: turns a request over an index into a page of hits.

A search runs through the folders of this room in one direction, and each imports only those before it:

- ``contract``: what is asked and what is answered; :mod:`request` checks the arguments.
- ``states``: what an item is beside its words: :mod:`verdicts`, the relations in :mod:`graph`, :mod:`succession`.
- ``matching``: :mod:`bind` resolves the names of a query, :mod:`expand` finds the terms of each word, :mod:`term` and
  :mod:`positions` the documents with those terms, :mod:`predicates` those that meet a condition.
- ``scoring``: :mod:`score` combines and scores, :mod:`order` sorts, :mod:`facets` counts.
- ``reading``: :mod:`reading` says what a text is, :mod:`relax` how its words may be relaxed, and the table in
  :mod:`attempts` what is tried in turn.
- ``meaning``: similarities of vectors, fused with the scores of words.
- ``page``: the files of the hits shown, read and verified now, with passages and marks.

Above them, :mod:`engine` does these steps for one request, on one state of the index; :mod:`sections`,
:mod:`similar` and :mod:`explain` use it::

    response = Search(make_request("thread NEAR/5 orchestrator", options), context).run()
"""
