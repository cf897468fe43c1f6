# rye:signed:v2:2026-03-01T08:30:00Z:ab313688f11e7bade05509b9bb086186980f5262f25409c8d0268bbf82d317a3:FmnaKMsaItcHTOyNYP3iQAuT5fasngSle4sadGdgaEEfnnGHDqJsSc3gg09Wl3Y4H2Tnju5Abd3gPKT8G06lDw:a735f6f196597119cc67199626c82feee0593e7ccabd767e895ea72b769c2a95:.py
"""Say hello."""


def main() -> None:
    """Say it."""
