"""Private keys, trust files and signing, for ``rye keys``, ``rye trust``, ``rye sign`` and ``rye manifest``.

A search needs none of it, so nothing is imported here::

    from rye.keyring.private import Keyring
"""

__all__ = ()
