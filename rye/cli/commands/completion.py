"""``rye completion``: the script that teaches a shell to complete ``rye``."""

from __future__ import annotations

import click

from rye.cli.terminal import say

__all__ = ["COMPLETION_VARIABLE", "command"]

COMPLETION_VARIABLE = "_RYE_COMPLETE"
"""Where a shell puts its request for completions."""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print the completion script of SHELL.

    bash and zsh evaluate it in ~/.bashrc or ~/.zshrc; fish reads it from ~/.config/fish/completions/rye.fish.
    """
    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root().command
    completion = get_completion_class(shell)
    assert completion is not None
    say(completion(root, {}, "rye", COMPLETION_VARIABLE).source().rstrip("\n"))
    return 0
