"""What fixes a finding: a command, for every code; run by real shells, whatever the files are named."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import click
import pytest

from rye._text import Advice, inline, quote
from rye.cli.app import root
from rye.items.clients import OF_PROJECTS
from rye.items.model import ItemType
from rye.spaces import git
from rye.spaces.model import ItemFile, Root, Space
from rye.trust.list import Change
from rye.trust.model import Verdict
from rye.trust.reasons import LIST_REMEDIES, POLICY_REMEDIES, REASONS
from rye.trust.trust_set import TrustSet
from rye.verify.advice import Adviser, Signers
from rye.verify.originals import Originals
from rye.verify.report import VerifiedItem, Violation
from tests.support.files import lay
from tests.support.outcomes import HOLDER, judged
from tests.support.signed import ANN, BEA, EVE, NOW, entry, sign
from tests.unit.cli.samples import signature

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
SHELLS = {
    "bash": ["bash", "--noprofile", "--norc"],
    "interactive bash": ["bash", "--noprofile", "--norc", "-i"],
    "zsh": ["zsh", "-f"],
    "interactive zsh": ["zsh", "-f", "-i"],
}
CODES = [code for code, reason in REASONS.items() if reason.verdict is not Verdict.TRUSTED]
HOSTILE = (
    "$(touch owned)",
    "`touch owned`",
    "; touch owned #",
    "a'b\"c",
    "-rf",
    "--all",
    "a  b",
    " a ",
    "*",
    "[a-z]?",
    ":(top)",
    "~",
    "#",
    "!!",
    "a!b'c!d",
    "=git",
    "=(touch owned)",
    "<(touch owned)",
    "^a^b",
    "{a,b}",
    "*(e:'touch owned':)",
    "%1",
    "a  # b; touch owned",
    "a\\b",
    "é\u0301",
    "\U000e0100",
)


MINE = {code for code in CODES if REASONS[code].remedy.sign}
OTHER = Signers({BEA.public.fingerprint: ""}, TrustSet((entry(BEA),)), NOW)


SKILLS = next(each for each in OF_PROJECTS if each.place == ".claude/skills")
SKILL = ItemFile("pdf/SKILL.md", ItemType.DIRECTIVE, "pdf", ".md")


def held(here: str, project: str = "") -> Adviser:
    """Return what writes the fixes for somebody who holds the key that signed, and whose key counts."""
    return Adviser(here, project, signers=lambda: HOLDER)


def item(code: str, name: str = "demo/a", *, space: str = "project", base: str = "/p") -> VerifiedItem:
    """Return an item with that reason."""
    verdict = str(REASONS[code].verdict) if code in REASONS else "trusted"
    bundle = "shop" if space == "system" else ""
    told = signature(verdict, code=code, signer=ANN.public.fingerprint)
    return judged(name, told, space=space, bundle=bundle, root=f"{base}/.ai")


def violation(code: str, name: str = "demo/a", *, space: str = "project", base: str = "/p") -> Violation:
    """Return how a file differs from a list, or what is wrong with the list."""
    path = "rye.list" if code.startswith("list-") else f"tools/{name}.py"
    root = Root(Space(space), Path(base, ".ai"), "shop" if space == "system" else "")
    return Violation(root, f"{base}/.ai/{path}", Change(code, path, "words"))


def run(shell: str, script: str, folder: Path, **variables: str) -> str:
    """Let a shell read lines as if they were pasted; return what it wrote."""
    words = SHELLS[shell]
    if shutil.which(words[0]) is None:
        pytest.skip(f"needs {words[0]}")
    environment = os.environ | {"HISTFILE": "", "TERM": "dumb"} | variables
    done = subprocess.run(
        words,
        input=script.encode("utf-8", "surrogateescape"),
        cwd=folder,
        env=environment,
        capture_output=True,
        check=False,
    )
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def commands(name: str = "demo/a") -> Iterator[tuple[str, Advice]]:
    """Yield every code in every space with its advice, in a repository and outside of one."""
    for space in ("project", "user", "system"):
        for fixes in (held("/p", "/p"), held("/elsewhere", "/other"), held(""), Adviser("/p", "/p")):
            for code in CODES:
                yield code, fixes.of_item(item(code, name, space=space), code)
            for code in POLICY_REMEDIES:
                yield code, fixes.of_item(item(code, name, space=space), code)
            for code in LIST_REMEDIES:
                yield code, fixes.of_list(violation(code, name, space=space))


def parse(words: list[str]) -> Mapping[str, object]:
    """Let the real command line take the words of a command apart; nothing is run."""
    command: click.Command = root
    while isinstance(command, click.Group):
        _, found, words = command.resolve_command(click.Context(command), words)
        assert found is not None, words
        command = found
    return command.make_context(command.name, list(words)).params


def test_every_fix_is_a_command_that_parses() -> None:
    """Of every code: the first word is a program, and what is rye's the real parser takes, options and all.

    So it is in the note, behind a colon, also where there is no more than that. No command has a comment.
    """
    seen = set()
    for code, fix in commands():
        seen.add(code)
        assert "#" not in fix.command
        for command in fix.command.split(" && ") if fix.command else ():
            words = shlex.split(command)
            assert words[0] in {"rye", "export"}, fix
            assert words[0] != "rye" or parse(words[1:]), fix
        assert all(parse(shlex.split(part)[1:]) for part in fix.words.split(": ") if part.startswith("rye ")), fix
    assert seen == {*CODES, *POLICY_REMEDIES, *LIST_REMEDIES}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_in_what_fixes_it(name: str) -> None:
    """It is one argument: no option, no pattern, no second command; by its path where it would be a pattern."""
    fix = held("/p", "/p").of_item(item("no-envelope", name), "no-envelope")
    if quote(name).startswith("$'"):
        return  # shlex does not read these; bash does, below
    params = parse(shlex.split(fix.command)[1:])
    named = f"/p/.ai/tools/{name}.py" if set(name) & set("*?[") else f"tool:{name}"
    assert params["target"] == (named,)
    assert params["every"] is False


def test_signing_is_for_holders_of_a_counting_key() -> None:
    """For an unsigned item or their own; what is altered or somebody else's is compared with the original instead."""
    nobody, other = Adviser("/p", "/p"), replace(held("/p", "/p"), signers=lambda: OTHER)
    for code in (*CODES, *POLICY_REMEDIES):
        verdict = REASONS[code].verdict if code in REASONS else Verdict.TRUSTED
        mine, theirs = held("/p", "/p").of_item(item(code), code), other.of_item(item(code), code)
        assert not nobody.of_item(item(code), code).command.startswith("rye sign")
        assert theirs.command.startswith("rye sign") == (verdict is Verdict.UNSIGNED)
        assert (mine.command.startswith("rye sign")) == (code in {*MINE, *POLICY_REMEDIES} - {"signer", "hidden-text"})
        assert verdict is not Verdict.TAMPERED or "list" in code or "again from its source" in theirs.words
        is_edited = code in {"digest", "line-ends", "skill-changed", "skill-rewritten", "list-changed"}
        assert mine.words.startswith("changed after it was signed: ") == is_edited
        assert verdict is not Verdict.TAMPERED or is_edited or mine == theirs
    limited = Signers(HOLDER.keys, TrustSet((entry(ANN, patterns=("other/*",)),)), NOW)
    assert not replace(nobody, signers=lambda: limited).of_item(item("no-envelope"), "no-envelope").command
    named = Signers({EVE.public.fingerprint: "", ANN.public.fingerprint: " --key release"}, HOLDER.trust, NOW)
    fix = replace(nobody, signers=lambda: named).of_item(item("no-envelope"), "no-envelope")
    assert fix.command == "rye sign tool:demo/a --key release"
    own = held("/p", "/p").of_item(item("audience"), "audience")
    assert (own.command, "--audience" in own.words) == ("rye sign tool:demo/a", True)
    for code in LIST_REMEDIES:
        assert "rye sign" not in nobody.of_list(violation(code)).command
        assert "rye sign" not in held("/p", "/p").of_list(violation(code)).command


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_reads_back_what_was_quoted(shell: str, tmp_path: Path) -> None:
    """Every hostile text is one word to a shell, and that text; as an answer shows it, which changes nothing of it."""
    texts = [*HOSTILE, "", "a\nb", "a\tb\r", "\x1b[2J\x07", "\u202eevil", "\udcff", "a\u00a0b", "x\n\n"]
    shown = [inline(quote(text)) for text in texts]
    assert shown == [quote(text) for text in texts]
    record = tmp_path / "record"
    printed = run(
        shell, "".join(f"printf '%s\\0' {text} >> \"$RECORD\"\n" for text in shown), tmp_path, RECORD=str(record)
    )
    assert record.read_bytes() == b"".join(os.fsencode(text) + b"\0" for text in texts), printed


@pytest.mark.parametrize(
    ("root", "file", "told"),
    [
        (Root(Space.PROJECT, Path("/q/.ai")), ItemFile.at("directives/AGENTS.md"), "directive:AGENTS --project /q"),
        (Root(Space.PROJECT, Path("/q/.claude/skills"), client=SKILLS), SKILL, "directive:pdf --project /q"),
    ],
)
def test_advice_names_the_project_of_the_root_below_which_a_file_was_found(
    root: Root, file: ItemFile, told: str
) -> None:
    """A file with the name of a client's file in ``.ai`` belongs to that project; so does one in a client's folder."""
    unsigned = VerifiedItem(root, file, signature("unsigned", code="no-envelope"))
    fix = held("/p", "/p").of_item(unsigned, "no-envelope")
    assert f"rye sign {told}" in f"{fix.command} {fix.words}"


def test_attack_a_commit_that_names_too_many_files_leaves_nothing_to_be_signed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody can look whether a file was signed, it counts as one that was."""
    lay_repository(tmp_path)
    root, digest = Root(Space.PROJECT, tmp_path), sha256(b"# A\n").hexdigest()
    assert not Originals().was_signed(root, "knowledge/a.md", digest)
    monkeypatch.setattr(git, "MAX_OUTPUT", 10)
    assert Originals().was_signed(root, "knowledge/a.md", digest)


@needs_git
@pytest.mark.parametrize("limit", ["", "MAX_OUTPUT", "_MOST_OF_INDEX"])
def test_git_lists_a_commit_once_for_all_roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    """Of two packages of a repository; each alone only where the whole is too much to list or to read."""
    lay(tmp_path, {f"{name}/.ai/knowledge/{name}.md": sign(b"# A\n", suffix=".md") for name in "ab"})
    lay(tmp_path, {f"other/{number}": "" for number in range(9)})
    lay_repository(tmp_path)
    roots = [Root(Space.PROJECT, tmp_path / name / ".ai") for name in "ab"]
    asked = list[Path]()

    def committed(folder: Path) -> Mapping[str, str] | None:
        asked.append(folder)
        return git.committed(folder)

    if limit:
        monkeypatch.setattr(git, limit, 600)
    monkeypatch.setattr("rye.verify.originals.committed", committed)
    known = Originals(roots)
    for each, name in zip(roots, "ab", strict=True):
        assert known.was_signed(each, f"knowledge/{name}.md", "0" * 64)
        assert not known.was_signed(each, "knowledge/other.md", "0" * 64)
    assert asked == [tmp_path, *(each.path for each in roots if limit)]


def lay_repository(folder: Path) -> None:
    """Make a repository with one commit of an unsigned file."""
    lay(folder, {"knowledge/a.md": "# A\n"})
    someone = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for words in ("init -q", "add -A", "commit -qm x"):
        subprocess.run(["git", *someone, *words.split()], cwd=folder, check=True, capture_output=True)
