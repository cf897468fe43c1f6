"""The façade: one object that finds, loads, verifies and signs the items of a project, a user and the system.

Example::

    registry = Registry("/path/to/project")
    for hit in registry.search("thread orchestrator", scope="directive").results:
        print(hit.id, hit.signature.verdict)
"""

__all__ = ()
