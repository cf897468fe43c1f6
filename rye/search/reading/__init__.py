"""A text to the queries to try: as written, relaxed, by name; and what is said about it."""
