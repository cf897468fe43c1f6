r"""items: turns the bytes of one file into an :class:`Item`. No disk, no keys, nothing executed.

A directive, tool or knowledge entry is read for its metadata, body, sections, symbols and references to other items. A
signature line is passed on without being interpreted. The only exception that leaves this room is
:class:`rye.errors.ItemError`. It concerns that one file: too large, not UTF-8, or with unreadable metadata.

    >>> from rye.items.model import ItemType
    >>> from rye.items.reader import parse
    >>> item = parse(b"# Deploy\n\nShip it.", item_type=ItemType.KNOWLEDGE, item_id="ops/deploy", suffix=".md")
    >>> item.name, item.title, item.description, item.category
    ('deploy', 'Deploy', 'Ship it.', 'ops')
"""
