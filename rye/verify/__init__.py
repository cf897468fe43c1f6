"""What ``rye verify`` does beyond one signature: files on every core, policies, findings and their fixes.

A search needs none of it, so nothing is imported here::

    from rye.verify.policy import load_policy
"""

__all__ = ()
