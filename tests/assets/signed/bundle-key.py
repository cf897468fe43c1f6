# rye:signed:v2:2026-03-01T08:30:00Z:ab313688f11e7bade05509b9bb086186980f5262f25409c8d0268bbf82d317a3:UV48Ue_cUHzR_oSG7XMVmwiKnCj-9woDJm42NeuooHiaehZpJ54WJgDj2vocWXYdz7j2RJ2H-mQG8VXWy1mFDQ:afceb46e8ba5876a63a373e26e0d31da374c76add0b8d26e7a7759966fcc2a46:.py
"""Say hello."""


def main() -> None:
    """Say it."""
