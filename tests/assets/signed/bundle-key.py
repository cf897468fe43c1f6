# rye:signed:v2:2026-03-01T08:30:00Z:ab313688f11e7bade05509b9bb086186980f5262f25409c8d0268bbf82d317a3:_pkhBusVcCsb0MpI3t4rTb1nTity8nGrBiTmls1nICMlBrHv6kEgi8_u-3BwTL3AQ9NHk0tqYyYgQ1JgI4KBDQ:afceb46e8ba5876a63a373e26e0d31da374c76add0b8d26e7a7759966fcc2a46:tool:.ai/tools/demo/hello.py
"""Say hello."""


def main() -> None:
    """Say it."""
