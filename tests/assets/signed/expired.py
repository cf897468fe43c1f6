# rye:signed:v2:2026-03-01T08:30:00Z:ab313688f11e7bade05509b9bb086186980f5262f25409c8d0268bbf82d317a3:VOmtsWpq7d4czrG0N9Yd16Ro7PchiLeyOxSb0hy6dA5t3ydv3Y4qsCf-dEkF36p8snuhvyxSsKxmDhdHICD-CA:77f25e8656f076e932741d4e0152d447bf054a951f35dead621c16299c701c78:.py
"""Say hello."""


def main() -> None:
    """Say it."""
