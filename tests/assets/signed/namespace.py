# rye:signed:v2:2026-03-01T08:30:00Z:ab313688f11e7bade05509b9bb086186980f5262f25409c8d0268bbf82d317a3:ko8fJuOj_9MwSnPKD8EzuTybFPAelzlKKLXqQm0UdyYqDvIoSPZhYvN1MdarEvQTs2PaQRhIF7oyADv8wapKAw:148fdd6797f0319bb7ebdc69e2439352d748cf0aa9704123de4a3afea1215af7:.py
"""Say hello."""


def main() -> None:
    """Say it."""
