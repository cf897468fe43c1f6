# rye:signed:v2:2026-03-01T08:30:00Z:ab313688f11e7bade05509b9bb086186980f5262f25409c8d0268bbf82d317a3:3Lx15hMJ0ewKHZLnv_28mthLmXnm1KFTruHGTb7AtuSDHow3pL-1-0m6jfve8hxYWWIkOvbAVBozADu_0-KZCw:c66f13baf6a7353c5198d06fb1d33b957b6c5597bf479fb8af8ce34075f0ad7e:tool:.ai/tools/demo/hello.py
"""Say hello."""


def main() -> None:
    """Say it."""
