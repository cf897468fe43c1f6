"""The options of the engine, each declared once, for every surface: name, type, default, bounds, choices, meaning.

It knows no other room, as the engine checks its arguments by it::

    limit = parameters_of(SearchOptions)["limit"]
    check(limit, 2000)  # ArgumentError: limit is 2000 (valid are whole numbers from 1 to 1,000)
"""
