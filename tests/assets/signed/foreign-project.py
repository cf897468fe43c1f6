# rye:signed:v2:2026-03-01T08:30:00Z:ab313688f11e7bade05509b9bb086186980f5262f25409c8d0268bbf82d317a3:JS8c3XFFAaL6FEUN3juMDha1DgLUby5ZtgBQCQRP5UeiYfAF_libX_xzWbIksdxmFltdtul5l59v41-GcA5vDg:731590036d41c48cfff9335517dd125284a58ee7161d6a6aabe8196decd9a9f7:tool:.ai/tools/demo/hello.py
"""Say hello."""


def main() -> None:
    """Say it."""
