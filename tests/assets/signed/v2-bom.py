# rye:signed:v2:2026-03-01T08:30:00Z:bf3fcb6c12d6e0ea46a1e89c73f1a3ad4c53225e391a604abc9304ea26bf1087:rh_lrBXr696LqyXxsDWc4jducwql9mBJMsR0SpKjgmg4cEybVwm69awSEjG2sebF3P-owcEVosn4BQ8S-ATiBA:0a4f59c1b93ea6c98117f347f95126ad2a1ac720640050f43a05a846012b8b71
"""Say hello."""


def main() -> None:
    """Say it."""
