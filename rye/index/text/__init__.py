"""Texts to terms, and an item to the columns that are indexed."""
