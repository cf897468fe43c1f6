# rye:signed:v2:2026-03-01T08:30:00Z:ab313688f11e7bade05509b9bb086186980f5262f25409c8d0268bbf82d317a3:fTty3PRoiMgumAs6KuGTY_iAa-JjOoAar1CKDzuQbzm4EzniDuImb5IQZ4iayrNDFGj-adBj8a-srn-U2YPNBg:9d8bf9db7e03986b25f5c36215e1f915b81fe0be209c315a9be238b3c33b417c
"""Say hello."""


def main() -> None:
    """Say it."""
