# rye:signed:v2:2026-03-01T08:30:00Z:bf3fcb6c12d6e0ea46a1e89c73f1a3ad4c53225e391a604abc9304ea26bf1087:lZUU46h7RIKziNsuoLL6LyPUVzXyHICyHLlYpuxiq9sJS3ODvUSQnPyw65ss-X2jzg4CweNjuYra3diOL3YgBg:0a4f59c1b93ea6c98117f347f95126ad2a1ac720640050f43a05a846012b8b71:tool:.ai/tools/demo/hello.py
"""Say hello."""


def main() -> None:
    """Say it."""
