"""Verifies many files, beyond one signature: on every core, under policies, with findings and their fixes.

A search needs none of this, so nothing is imported here::

    from rye.verify.policy import load_policy
"""
