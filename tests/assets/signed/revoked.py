# rye:signed:v2:2026-03-01T08:30:00Z:ab313688f11e7bade05509b9bb086186980f5262f25409c8d0268bbf82d317a3:ZblB4IKZx8diJ5JKzsVOmR2L8vXjwPX07_dWraL2WprbQkzKypjfPf-HwhwVd3_292ol0pXezn2kz8thn7S_Aw:c66f13baf6a7353c5198d06fb1d33b957b6c5597bf479fb8af8ce34075f0ad7e
"""Say hello."""


def main() -> None:
    """Say it."""
