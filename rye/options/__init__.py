"""The options of the engine, each declared once for all surfaces: name, type, default, bounds, choices, meaning.

The engine checks its arguments with it, so it imports no other room::

    limit = parameters_of(SearchOptions)["limit"]
    check(limit, 2000)  # ArgumentError: limit is 2000 (valid are whole numbers from 1 to 1,000)
"""
