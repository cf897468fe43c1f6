# rye:signed:v2:2026-03-01T08:30:00Z:ab313688f11e7bade05509b9bb086186980f5262f25409c8d0268bbf82d317a3:P2p5Z_4Dm8RecogvOiawZU1QDR4fnx-9ZNStD_2WWNE4yLSb_RoCsjG-dxFfJak9jf1A1aOm_ExOqWFgEzhqBw:731590036d41c48cfff9335517dd125284a58ee7161d6a6aabe8196decd9a9f7:.py
"""Say hello."""


def main() -> None:
    """Say it."""
