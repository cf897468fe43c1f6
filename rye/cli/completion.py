"""Completion in bash, zsh and fish: the script of each shell, and the candidates for a word.

A shell asks by running ``rye`` with the line up to the cursor in environment variables. Completion writes nothing and
opens no index; after an error it offers nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stderr, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click
from click.shell_completion import (
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    shell_complete,
    split_arg_string,
)

if TYPE_CHECKING:
    from rye.spaces.layout import Layout

_Spaces: TypeAlias = "Callable[[], Layout]"

_PLAIN = re.compile(r"[A-Za-z0-9_][\w./@+:=-]*")
"""Characters that no shell expands or runs. Items may have any name, and bash inserts a completion unquoted."""

_BASH = """\
_rye_completion() {
    local kind value
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value"); case $value in *[:=]) compopt -o nospace ;; esac ;;
        esac
    done < <(_RYE_COMPLETE=bash_complete COMP_WORDS="${COMP_LINE:0:COMP_POINT}" \\
        COMP_BREAKS="$COMP_WORDBREAKS" "$1" 2>/dev/null)
}
complete -o nosort -F _rye_completion rye 2>/dev/null || complete -F _rye_completion rye
"""


class _Bash(ShellComplete):
    """Bash, which splits words at ``:`` and ``=``, while ``type:id`` is one word."""

    name, source_template = "bash", _BASH

    def source(self) -> str:
        """Return the script."""
        return self.source_template

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, and the word at the cursor."""
        *args, begun = split_arg_string(os.environ["COMP_WORDS"] + "\0")
        return args[1:], begun.removesuffix("\0")

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[Any]]:
        """Return the completions without the part that bash has already split off."""
        completions = super().get_completions(args, incomplete)
        option = re.match(r"--[a-z-]+=", incomplete)
        breaks = set(os.environ.get("COMP_BREAKS", "")) & {":", "="}
        skipped = max((incomplete.rfind(char) + 1 for char in breaks), default=0)
        for completion in completions:
            completion.value = ((option[0] if option else "") + str(completion.value))[skipped:]
        return completions

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Return the line of one completion."""
        return f"{item.type},{item.value}"


add_completion_class(_Bash)


def script(root: click.Command, shell: str) -> str:
    """Return the completion script of a shell: bash, zsh or fish; the latter two are click's own."""
    kind = get_completion_class(shell)
    assert kind is not None
    return kind(root, {}, "rye", "_RYE_COMPLETE").source()


def answer_shell(root: click.Command, instruction: str) -> int:
    """Print the completions that a shell asks for and nothing else, even after an error; return the exit status."""
    with Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere), suppress(Exception):
        return shell_complete(root, {}, "rye", "_RYE_COMPLETE", instruction)
    return 1


def candidates(kind: str, layout: _Spaces, begun: str) -> list[CompletionItem[str]]:
    """Return the completions of a parameter in the spaces that the line names.

    The shell itself completes file names.
    """
    words = sorted({word for word in _KINDS[kind](layout, begun) if word.startswith(begun) and _PLAIN.fullmatch(word)})
    files = [CompletionItem(begun, type="file")] if kind in {"target", "signed"} else []
    return [*map(CompletionItem, words), *files]


def _items(layout: _Spaces, begun: str) -> Iterator[str]:
    """Yield ``type:id`` of every item; only the ids if the word has no type yet."""
    from rye.spaces.walk import list_items

    for root in layout().roots:
        for file in list_items(root)[0]:
            yield f"{file.item_type}:{file.item_id}"
            if begun and ":" not in begun:
                yield file.item_id


def _signed(layout: _Spaces, begun: str) -> Iterator[str]:
    """Yield what may follow ``rye sign``: its two further commands, and items."""
    yield from ("list", "bundle")
    yield from _items(layout, begun)


def _keys(_layout: _Spaces, _begun: str) -> Iterable[str]:
    from rye.keyring.private import Keyring

    return Keyring.find().names()


def _trusted(layout: _Spaces, _begun: str) -> Iterable[str]:
    from rye.keyring.private import Keyring

    return (key.fingerprint for key in Keyring(layout()).trust.list().keys)


def _fields(_layout: _Spaces, _begun: str) -> Iterable[str]:
    from rye.search.contract.fields import KEYWORD_FIELDS, TEXT_FIELDS

    return (*TEXT_FIELDS, *KEYWORD_FIELDS)


def _topics(_layout: _Spaces, _begun: str) -> Iterable[str]:
    from rye._resources import items_root

    return (path.stem for path in (items_root() / "knowledge" / "rye").glob("*.md"))


def _ending(names: Callable[[_Spaces, str], Iterable[str]], sign: str) -> Callable[..., Iterable[str]]:
    return lambda layout, begun: (f"{name}{sign}" for name in names(layout, begun))


_KINDS: Mapping[str, Callable[[_Spaces, str], Iterable[str]]] = {
    "item": _items,
    "target": _items,
    "signed": _signed,
    "key": _keys,
    "trusted": _trusted,
    "query": _ending(_fields, ":"),
    "field": _ending(_fields, "="),
    "topic": _topics,
}
"""Kind of a parameter, as its declaration names it, to the function that completes it."""
