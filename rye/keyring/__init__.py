"""Private keys, trust files and signing, for ``rye keys``, ``rye trust`` and ``rye sign``.

A search needs none of this, so nothing is imported here::

    from rye.keyring.private import Keyring
"""
