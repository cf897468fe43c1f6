# rye:signed:v2:2026-03-01T08:30:00Z:ab313688f11e7bade05509b9bb086186980f5262f25409c8d0268bbf82d317a3:-p_s-7SBcodVp228F2tZO01k0jhSPsoUaHkGAkTHPei09jP-6wi9CpjtzW_6aLGQjYETU625NKEsWelOhpSYDg:a735f6f196597119cc67199626c82feee0593e7ccabd767e895ea72b769c2a95:tool:.ai/tools/demo/hello.py
"""Say hello."""


def main() -> None:
    """Say it."""
