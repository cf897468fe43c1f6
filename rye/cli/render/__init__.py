"""Answers as lines of escaped text: pure functions of a value and a :class:`~rye.cli.terminal.Terminal`."""
