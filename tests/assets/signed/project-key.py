# rye:signed:v2:2026-03-01T08:30:00Z:ab313688f11e7bade05509b9bb086186980f5262f25409c8d0268bbf82d317a3:VNpawImLns2Qw9MtA1QfMJ1EPCKY08_SXeK9K5BoioXOKvHrEgfKJvcjvJALNmywdAZfcrzW2kc-42PSWsqiAA:9d8bf9db7e03986b25f5c36215e1f915b81fe0be209c315a9be238b3c33b417c:tool:.ai/tools/demo/hello.py
"""Say hello."""


def main() -> None:
    """Say it."""
