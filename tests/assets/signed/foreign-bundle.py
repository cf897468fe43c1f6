# rye:signed:v2:2026-03-01T08:30:00Z:ab313688f11e7bade05509b9bb086186980f5262f25409c8d0268bbf82d317a3:Yk5NdixhXmCKpDKVyjPNv5--CvOGXq8ql-yICZLSOgsbB9L2jyz3Tm3AOrtlBrwY88cQN9ItHJQBN76yb4rhAw:a735f6f196597119cc67199626c82feee0593e7ccabd767e895ea72b769c2a95
"""Say hello."""


def main() -> None:
    """Say it."""
