# rye:signed:v2:2026-03-01T08:30:00Z:ab313688f11e7bade05509b9bb086186980f5262f25409c8d0268bbf82d317a3:in-PsXjIqng8SPrNosM36fZve3SW9e11durU_Ml2KUq1ljs7iCrfBSNRMEPheqkxk434zed1bU-7RX4kCsfMCw:123ac3d6be8dfeb19110179dc3fb0be2e1e78bcbe5c86982d08d5468be89545e:.py
"""Say hello."""


def main() -> None:
    """Say it."""
