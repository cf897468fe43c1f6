"""The table of commands: help, completion, dispatch and the tests all read it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import NamedTuple

import click

from rye.cli.options import HELP_SETTINGS, as_command, colour_option

__all__ = ["COMMANDS", "GROUPS", "CommandHelp"]


_WIDTH = 76
"""Columns of an example on a terminal of 80."""


class CommandHelp(NamedTuple):
    """A command's name, its line in the list of commands, and pairs of a shell line and what it does."""

    name: str
    summary: str
    examples: tuple[tuple[str, str], ...]

    @property
    def command(self) -> click.Command:
        """The command itself."""
        return _load(self)

    def epilog(self) -> str:
        """Return the examples as click shows them below the help, each beside or below what it does."""
        width = max(len(line) for line, _ in self.examples)
        lines = [f"{line:<{width}}  # {meaning}" for line, meaning in self.examples]
        if max(map(len, lines)) > _WIDTH:
            lines = [f"# {meaning}\n{line}" for line, meaning in self.examples]
        return "\n".join(["\b\nExamples:", *lines])


_PLACES: Mapping[str, str] = {
    "search": "search.search",
    "sections": "search.sections",
    "show": "items.show_item",
    "refs": "items.refs",
    "why": "search.why",
    "eval": "evaluate.evaluate",
    "list": "items.list_command",
    "index": "service.index",
    "publish": "service.publish",
    "init": "create.init",
    "new": "create.new",
    "import": "create.import_command",
    "sign": "sign.sign",
    "sign list": "sign.sign_list_command",
    "sign bundle": "sign.sign_bundle_command",
    "verify": "verify.verify",
    "doctor": "doctor.doctor",
    "keys": "keys.keys",
    "trust": "trust.trust",
    "mcp": "service.mcp",
    "hook": "hook.hook",
    "serve": "service.serve",
    "completion": "service.completion",
    "help": "items.help_command",
}
"""Where each command is: its module, and its name there. A module is imported only when one of its commands is used."""

_HELP = r"""
search: Find items by words, phrases, fields and verdicts.
    rye search '"file system"' --scope tool   # a phrase, in tools only
    rye search -- -draft                      # begins with an exclusion
    rye search 'version:>=2.0' --format ids   # every item of version 2 or newer
sections: Find whole sections by meaning and words.
    rye sections how are keys revoked                        # the sections that answer that, with their texts
    rye sections 'deploy a service' --max-chars 8000 --json  # what fits an agent's context
    rye sections rollback --recency-weight 0.3               # with 30 % of each score depending on age
show: Show one item: metadata, verdict, what it shadows, content.
    rye show knowledge:rye/query-language  # by type and id
    rye show rye/query-language            # by id alone, when only one type has it
    rye show rye/query-language --raw      # the bytes of the file and nothing else
refs: Show what an item refers to, and what refers to it.
    rye refs knowledge:rye/ci                 # both directions, one step
    rye refs rye/ci --direction in --depth 3  # what depends on it, up to three steps away
why: Explain how rye reads a query, or why an item is a hit.
    rye why 'file* NOT temporary'                 # its tree, the stages, and the number of hits
    rye why 'verify signatures' knowledge:rye/ci  # rank, words, and shares of the score
    rye why 'verify -ci' rye/ci                   # which part of the query excludes it
    rye why deploy rye/ci --scope tool --json     # with options of rye search
eval: Measure how often questions find the right item.
    rye eval .claude/skills --scope directive          # the questions that skills bring along
    rye eval questions.csv --mode keyword --min 0.9    # for CI: exit 1 below 90 %
list: List items with version, verdict and description.
    rye list                              # every item of every space
    rye list 'tool.rye.*' --space system  # the tools of a namespace
    rye list knowledge --sort date -n 5   # the newest entries
index: Show, rebuild or clear the search index.
    rye index status   # where the index of each space is, and its size
    rye index rebuild  # read every file again
    rye index clear    # delete it; the next search builds it again
publish: Publish items to a registry on a cluster.
    rye publish opensearch+https://search.example:9200/skills            # the items of this project
    rye publish opensearch+https://search.example:9200/skills --dry-run  # what would change there
init: Set up a project: import texts, write a policy, sign.
    rye init --dry-run                                   # list what it would do
    rye init                                             # list it, ask, do it
    rye init --yes --ci github --rye OWNER/REPO@COMMIT   # with a job that verifies each change
new: Create a new item from a template.
    rye new knowledge ops/rollback  # .ai/knowledge/ops/rollback.md
    rye new tool ops/backup.sh      # a script for the shell; Python without an extension
    rye new skill pdf               # a SKILL.md where your skills are
import: Copy files from elsewhere into .ai as items.
    rye import notes                             # notes/a.md becomes knowledge:notes/a
    rye import ~/prompts/*.txt --as directive    # import texts as directives
    rye import docs --namespace team --dry-run   # what would be copied, as knowledge:team/…
sign: Sign items and skills.
    rye sign tool:demo/hello          # one item of the project
    rye sign 'tool:demo/*' --dry-run  # what would be signed
    rye sign --all --check            # for CI: is every item of the project signed by this key?
sign list: Sign the list of all files of a space or folder.
    rye sign list                     # every file of the project's .ai
    rye sign list . --expires 30      # every file of a repository of skills, for 30 days
    rye sign list --add               # add your signature to the list of another signer
sign bundle: Sign a folder to publish, with a trust file.
    rye sign bundle .                 # a repository of skills or a plugin
    rye sign bundle items --new-key   # with a new key that is then discarded
verify: Verify signatures; exit 1 when an item fails.
    rye verify --space project                             # every item of the project, for CI
    rye verify tool:demo/hello -v                          # one item, with its reason
    rye verify --signer "$SIGNER" --json                   # accept only this key; answer as JSON
    rye verify --space project --format sarif > rye.sarif  # for a code scanner
    rye verify --policy policy.yaml                        # with the demands of a policy
    rye verify --policy policy.yaml --accept               # accept the present findings; new ones fail
doctor: Report what an agent can find, and what stands in its way.
    rye doctor                       # the skills of this project and of your user
    rye doctor ~/work/shop           # those of another folder; exit 1 if there is a finding
    rye doctor --format sarif        # for a code scanner
keys: Make, list, show, export, import and rotate your keys.
    rye keys generate --owner Ada                     # your first key, and its trust file
    rye keys export > ada.toml                        # the trust file that others need
    rye keys export release --private -o release.pem  # the private key, for a secret store
trust: Decide which keys you trust: list, add, revoke, endorse.
    rye trust list                                     # every key, and whether you trust it
    rye trust add bea.toml --for 'knowledge:ops/*'     # trust bea's signatures on items below ops
    rye trust revoke "$FINGERPRINT" --reason stolen    # nothing it ever signed counts
mcp: Serve agents over the Model Context Protocol.
    rye mcp --print-config claude          # what to put into the client's configuration
    rye mcp --project . --require trusted  # trusted items of this project only
    rye mcp --http --token-file token.txt  # for several clients that know the token
hook: Suggest trusted items for a prompt: a hook for agents.
    rye hook claude --print-config   # what to put into the settings of Claude Code
serve: Serve web pages for a browser.
    rye serve --open                                     # the project around you, at http://127.0.0.1:8643
    rye serve --host 0.0.0.0 --token-file token.txt      # for other machines that know the token
completion: Print the completion script of a shell.
    eval "$(rye completion bash)"  # add this to ~/.bashrc
help: Show a page of the documentation.
    rye help                 # the pages of the manual
    rye help query-language  # one of them
"""
"""The summary of each command, and its examples."""


@cache
def _load(entry: CommandHelp) -> click.Command:
    """Import a command, and give it its help and what all commands share."""
    module, _, name = _PLACES[entry.name].partition(".")
    command: click.Command = getattr(import_module(f"rye.cli.commands.{module}"), name)
    command.short_help, command.epilog = entry.summary, entry.epilog()
    for action in (command, *(command.commands.values() if isinstance(command, click.Group) else ())):
        action.short_help = action.short_help or (action.help or "").partition(".\n")[0]
        action.context_settings = {**HELP_SETTINGS}
        action.params.append(colour_option(hidden=True))
        action.callback = action.callback and as_command(action.callback)
    return command


def _read_help() -> Mapping[str, CommandHelp]:
    entries, name = dict[str, CommandHelp](), ""
    for line in _HELP.strip().splitlines():
        if not line.startswith(" "):
            name, _, summary = line.partition(": ")
            entries[name] = CommandHelp(name, summary, ())
        else:
            example, _, meaning = line.strip().partition("  # ")
            entries[name] = entries[name]._replace(examples=(*entries[name].examples, (example.rstrip(), meaning)))
    return entries


COMMANDS: Mapping[str, CommandHelp] = _read_help()
"""Every command by its name, in the order of the help."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Find": ("search", "sections", "list", "show", "refs", "why"),
    "Check": ("verify", "doctor", "eval"),
    "Sign and trust": ("init", "new", "import", "sign", "sign list", "sign bundle", "keys", "trust"),
    "Serve": ("mcp", "hook", "serve", "publish"),
    "Maintain": ("index", "completion", "help"),
}
"""The commands under the headings of the first page of the help."""
