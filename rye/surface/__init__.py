"""Text that the command line and the MCP server share: the wording of an answer before either draws it.

The functions take plain values or the ``to_dict`` of a result, and return safe text without colour or length limit.

    >>> from rye.surface.text import header, verdict_text
    >>> header(1, 42, "results", "all"), verdict_text("untrusted", "unknown-key")
    ('[1 of 42 results -- all]', 'untrusted (unknown-key)')
"""
