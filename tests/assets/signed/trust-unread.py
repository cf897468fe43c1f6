# rye:signed:v2:2026-03-01T08:30:00Z:ab313688f11e7bade05509b9bb086186980f5262f25409c8d0268bbf82d317a3:PvNk4tgCfHBNtOrC6k7MPfNGugkxvVYmr7vy0MnIsmhUHqjrJi1wtE7VS93BJ_yUODfsTmLMaI1VQw5AhrcuDQ:7718127c565bd96bdc97f89d545abfd48076e21f70663694881f191981b872ab:.py
"""Say hello."""


def main() -> None:
    """Say it."""
