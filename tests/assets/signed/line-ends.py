# rye:signed:v2:2026-03-01T08:30:00Z:ab313688f11e7bade05509b9bb086186980f5262f25409c8d0268bbf82d317a3:i3zi0FMx0tGJYCcpaaTbixJgK7wpKNlNA4_OUIumbWytSWgmPOG48fHHhwp6DC18mGopZB11Sdg7zxcLj_XsDg:0a4f59c1b93ea6c98117f347f95126ad2a1ac720640050f43a05a846012b8b71:tool:.ai/tools/demo/hello.py
"""Say hello."""


def main() -> None:
    """Say it."""
