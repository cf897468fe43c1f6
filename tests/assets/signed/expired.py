# rye:signed:v2:2026-03-01T08:30:00Z:ab313688f11e7bade05509b9bb086186980f5262f25409c8d0268bbf82d317a3:OUpCiRA6YLHYNoV7N8n5GbGBbDUTXQFUOPeZJXdx-EnuvGXOqziJ1_08Hk79k8xYtTfXDKRMeBDSvrI2NoyGBg:77f25e8656f076e932741d4e0152d447bf054a951f35dead621c16299c701c78:tool:.ai/tools/demo/hello.py
"""Say hello."""


def main() -> None:
    """Say it."""
