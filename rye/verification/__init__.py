"""What ``rye verify`` does beyond one signature: files on every core, demands, findings and their fixes.

A part of the façade. Nothing is imported here, since a search needs none of it.
"""
