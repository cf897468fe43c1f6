# rye:signed:v2:2026-03-01T08:30:00Z:0a0022cc37361297c0af5d4dd499443107514df318b43dce6f83b9ae1682695b:qvX1EDPWr9RxnViseovvcvLGNLN4rDDADI6qKK_ILb2EuIUFsYUYMWgAW3OaklWnhEMqxtmO7jDttNJmmv5qAg:0a4f59c1b93ea6c98117f347f95126ad2a1ac720640050f43a05a846012b8b71:tool:.ai/tools/demo/hello.py
"""Say hello."""


def main() -> None:
    """Say it."""
