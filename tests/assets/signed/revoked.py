# rye:signed:v2:2026-03-01T08:30:00Z:ab313688f11e7bade05509b9bb086186980f5262f25409c8d0268bbf82d317a3:QYLLPKerm1Ou98R9x4oKczLd3RixzVZDYR6QQd6FO05D3Qoyx3aK8Janfy8hfeuHRGNQsqRuVR46E64Hcac0CQ:c66f13baf6a7353c5198d06fb1d33b957b6c5597bf479fb8af8ce34075f0ad7e:.py
"""Say hello."""


def main() -> None:
    """Say it."""
