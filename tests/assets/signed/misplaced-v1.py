# rye:signed:2026-03-01T08:30:00Z:ab313688f11e7bade05509b9bb086186980f5262f25409c8d0268bbf82d317a3:xZYwqa8e0V4JOzwRSMiQlqxHZ0PoHFCHZCaYsTUhOo6ILrFOs71z_ATNIVatx0ucyt4o_zuu3oGxJopWE0CRBA==:0a4f59c1b93ea6c9
"""Say hello."""


def main() -> None:
    """Say it."""
