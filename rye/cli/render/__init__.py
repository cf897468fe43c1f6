"""Answers as lines of harmless text: pure functions from a value and a :class:`~rye.cli.terminal.Terminal`."""
