"""The keys of a user and the trust files of a space: what ``rye keys`` and ``rye trust`` look at and change.

A part of the façade. Nothing is imported here, since a search needs none of it.
"""
