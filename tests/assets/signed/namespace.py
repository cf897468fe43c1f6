# rye:signed:v2:2026-03-01T08:30:00Z:ab313688f11e7bade05509b9bb086186980f5262f25409c8d0268bbf82d317a3:GsIqNXu-dk15Z858RG61hSFt9Itr12Sf3f-z3hetDFpg8L8k75v1b6g1fWpnBOQ2g9b7qOHed7Q-JrFkvG7mAQ:148fdd6797f0319bb7ebdc69e2439352d748cf0aa9704123de4a3afea1215af7:tool:.ai/tools/demo/hello.py
"""Say hello."""


def main() -> None:
    """Say it."""
