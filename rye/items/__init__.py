r"""items: the bytes of one file in, an :class:`Item` out. No disk, no keys, nothing executed.

A directive, tool or knowledge entry is read for its metadata, body, sections and symbols; where the file has a
signature line it is handed on unread. The only exception that leaves this room is :class:`rye.errors.ItemError`, and
it is about that one file: too large, not UTF-8, or with metadata that cannot be read.

    >>> from rye.items.model import ItemType
    >>> from rye.items.reader import parse
    >>> item = parse(b"# Deploy\n\nShip it.", item_type=ItemType.KNOWLEDGE, item_id="ops/deploy", suffix=".md")
    >>> item.name, item.title, item.description, item.category
    ('deploy', 'Deploy', 'Ship it.', 'ops')
"""
