"""Say hello."""


def main() -> None:
    """Say it."""
