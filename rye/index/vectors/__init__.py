"""The vectors of items: files, missing ones, and similarities."""
