"""Attacks on seams: what is accepted or signed is not what was meant, in lists, policies and revocations."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import chdir
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rye.trust.line import encode_signature
from rye.trust.list import ListedFile, add_signature, parse_list, write_list
from tests.support.attacks import OTHER, TEXT, Arena
from tests.support.files import lay
from tests.support.seams import (
    EVIL,
    KIND,
    ROWS,
    SKILL,
    STRICT,
    Answer,
    Row,
    ask,
    row,
    run,
    sign,
)
from tests.support.signed import ANN, BEA, EVE, NOTE, PAT, SIGNED_AT


def policy(arena: Arena, text: str = "") -> tuple[str, str]:
    """Write a policy, and return the words that name it."""
    return "--policy", str(lay(arena.sim.folder, {"policy.yaml": f"spaces: project\n{text}"}) / "policy.yaml")


def accept(arena: Arena, *words: str) -> None:
    """Write the present findings into a policy, as accepted ones."""
    place = ("--space", "project", "--project", str(arena.sim.project))
    assert run("verify", *words, *policy(arena), *place, "--accept")[0] == 0


def add_line(arena: Arena, *, body: bytes = b"", **terms: Any) -> None:
    """Put a signature line above the list, or above another body."""
    origin, data = arena.root()[1].list_place, body or arena.list.read_bytes()
    arena.list.write_bytes(add_signature(data, origin=origin, now=SIGNED_AT, **terms))


@row("list-signers")
def second_signer_is_the_first_one_again(arena: Arena) -> Answer:
    """A policy demands two signers, and the one line of the list is written twice."""
    arena.list_items()
    data = arena.list.read_bytes()
    arena.list.write_bytes(data.splitlines(keepends=True)[0] + data)
    return ask(arena, *policy(arena, "list: {signers: 2}\n"))


@row("list-signers")
def second_signer_is_of_another_audience(arena: Arena) -> Answer:
    """The second line was made for another registry."""
    arena.sim.trust(BEA, owner="bea")
    assert (
        run("sign", "--yes", "--all", "--force", "--audience", "acme/ops", "--project", str(arena.sim.project))[0] == 0
    )
    arena.list_items(audience="acme/ops")
    add_line(arena, key=BEA, audience="acme/other")
    second, first, *rest = arena.list.read_bytes().splitlines(keepends=True)
    arena.list.write_bytes(b"".join([first, second, *rest]))
    return ask(arena, *policy(arena, "audience: acme/ops\nlist: {signers: 2}\n"))


@row("list-signer", at=f".ai/{OTHER}")
def limited_key_signs_a_whole_list(arena: Arena) -> None:
    """A key that may sign tools signs a list: it is no list, and vouches for a tool all the same."""
    arena.sim.trust(EVE, owner="eve", patterns=("tool:*",))
    arena.sim.write("project", OTHER, TEXT)
    arena.list_items(EVE)


@row(at=f".ai/{OTHER}", options=())
def signature_is_any_64_bytes(arena: Arena) -> None:
    """A line of an unknown key has a signature that nobody made."""
    line, _, rest = arena.sim.add("project", OTHER, TEXT, EVE).read_bytes().partition(b"\n")
    made = line.split(b":")[-3]
    arena.sim.write("project", OTHER, line.replace(made, encode_signature(bytes(64)).encode()) + b"\n" + rest)


def relisted(damage: Callable[[Path], object], *words: str) -> Row:
    """Return the row of a list that does not verify, and is signed anew with what is added: unseen, or unasked."""

    def attack(arena: Arena) -> bool:
        lay(sign(arena, {}), {".ai/tools/demo/evil.txt": EVIL})
        damage(arena.list)
        _, out = run("sign", "list", *words, "--project", str(arena.sim.project))
        return "evil.txt" in out if words else not (arena.list.exists() and b"evil.txt" in arena.list.read_bytes())

    return Row(attack)


def damaged(path: Path) -> None:
    """Cut off the end of a file."""
    path.write_bytes(path.read_bytes()[:-9])


ROWS |= {
    "list-is-damaged-and-signed-unasked": relisted(damaged),
    "list-is-removed-and-signed-unasked": relisted(Path.unlink),
    "list-is-damaged-and-signed-unseen": relisted(damaged, "--yes"),
    "list-is-removed-and-signed-unseen": relisted(Path.unlink, "--yes"),
}


def sign_over(arena: Arena, name: str, number: int) -> None:
    """Sign the list where a stranger has put one."""
    body = write_list(name, number, datetime(2031, 1, 1, tzinfo=UTC), [ListedFile("a", "100644", "0" * 64)])
    add_line(arena, body=body, key=EVE)
    run("sign", "list", "--yes", "--project", str(arena.sim.project))


@row()
def name_of_a_strangers_list_is_taken_over(arena: Arena) -> bool:
    """The owner's list says that it is that of another place."""
    sign_over(arena, "other/place", 5)
    return parse_list(arena.list.read_bytes()).name != "other/place"


ROWS["number-of-a-strangers-list-leaves-none"] = Row(
    lambda arena: sign_over(arena, "project", 999_999_999), honest=True
)


@row()
def init_folds_away_what_it_signs(arena: Arena) -> bool:
    """Among many unsigned items the last ones are only counted."""
    names = [f"note{number:02}" for number in range(16)]
    lay(arena.sim.root("project"), {f"knowledge/demo/{name}.md": NOTE for name in names})
    _, out = run("init", "--project", str(arena.sim.project))
    return all(name in out for name in names)


@row()
def accepted_list_is_replaced(arena: Arena) -> Answer:
    """A finding about a list is accepted; then comes another list of the same stranger."""
    arena.list_items(EVE)
    accept(arena, *STRICT)
    arena.sim.write("project", "tools/demo/evil.txt", EVIL)
    arena.list_items(EVE)
    return ask(arena, *STRICT, "--policy", str(arena.sim.folder / "policy.yaml"))


@row()
def accepted_text_becomes_a_row_for_a_file(arena: Arena) -> Answer:
    """An accepted skill ends like a row of the list of its files; then it has that row, and the file is there."""
    folder = arena.sim.project / ".claude/skills/pdf"
    text = SKILL.replace("name:", "# rye:signed:v2:nonsense\nname:")
    lay(folder, {"SKILL.md": f"{text}100644  AAA.txt\n"})
    accept(arena)
    lay(folder, {"SKILL.md": text, "AAA.txt": EVIL})
    return ask(arena, "--policy", str(arena.sim.folder / "policy.yaml"))


@row("hidden-text")
def accepted_hidden_text_becomes_another(arena: Arena) -> Answer:
    """Hidden text in a signed file is accepted; then the signer hides another text there."""
    for text in ("one", "evil"):
        arena.sim.add("project", "knowledge/demo/a.md", f"# A\n\n{text}\u202e \U000e0041\n", ANN)
        if text == "one":
            accept(arena)
    return ask(arena, "--policy", str(arena.sim.folder / "policy.yaml"))


def accepted(before: Callable[[Path], object], after: Callable[[Path], object], *codes: str) -> Row:
    """Return the row of something in a project that is accepted, and changes below or behind what is named."""

    def attack(arena: Arena) -> Answer:
        project = sign(arena, {"AGENTS.md": KIND})
        before(project)
        accept(arena, "--strict")
        named = ("--strict", "--policy", str(arena.sim.folder / "policy.yaml"))
        assert ask(arena, *named).status == 0
        after(project)
        return ask(arena, *named)

    return Row(attack, frozenset(codes))


def link(path: str, target: str) -> Callable[[Path], object]:
    """Return what puts a link into a project, to a file or folder that has a text."""

    def put(project: Path) -> None:
        lay(project, {f"{target}/x.md" if "." not in target else target: KIND})
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).symlink_to(project / target)

    return put


def large(project: Path) -> None:
    """Put a file of 256 MiB and a byte, with a hole, into a folder."""
    lay(project, {".qoder/rules.md": KIND})
    with (project / ".qoder/large").open("wb") as file:
        file.truncate((1 << 28) + 1)


def change_large(project: Path) -> None:
    """Change a byte in its middle."""
    with (project / ".qoder/large").open("r+b") as file:
        file.seek(1 << 27)
        file.write(b"x")


UNKNOWN = "unknown-dot-name"
ROWS |= {
    "accepted-folder-gets-a-file": accepted(
        lambda project: lay(project, {".qoder/a.md": KIND}),
        lambda project: lay(project, {".qoder/b.md": EVIL}),
        UNKNOWN,
    ),
    "accepted-folder-with-a-repository-in-it": accepted(
        lambda project: lay(project, {".qoder/x/.git/config": "a\n", ".qoder/.git/config": "a\n"}),
        lambda project: lay(project, {".qoder/x/.git/hooks/evil": EVIL}),
        UNKNOWN,
    ),
    "accepted-folder-that-is-a-repository": accepted(
        lambda project: lay(project, {".qoder/.git/config": "a\n"}),
        lambda project: lay(project, {".qoder/.git/config": EVIL}),
        UNKNOWN,
    ),
    "accepted-folder-with-a-large-file": accepted(large, change_large, UNKNOWN),
    "accepted-folder-with-a-program": accepted(
        lambda project: lay(project, {".qoder/a": KIND}), lambda project: (project / ".qoder/a").chmod(0o755), UNKNOWN
    ),
    "accepted-link-to-a-file-that-changes": accepted(
        link(".claude/hooks/a.md", "docs/a.md"), lambda project: lay(project, {"docs/a.md": EVIL})
    ),
    "accepted-link-to-a-folder-that-changes": accepted(
        link(".claude/hooks/a", "docs/a"), lambda project: lay(project, {"docs/a/y.md": EVIL})
    ),
    "accepted-folder-with-a-link-to-what-changes": accepted(
        link(".qoder/a.md", "docs/a.md"), lambda project: lay(project, {"docs/a.md": EVIL}), UNKNOWN
    ),
}


def accept_link_out_of_the_project(arena: Arena) -> bool:
    """What lies outside cannot be read as a whole: such a finding is never accepted."""
    project = sign(arena, {"AGENTS.md": KIND})
    (project / ".qoder").symlink_to("/usr")
    place = ("--space", "project", "--project", str(project), "--strict")
    return run("verify", *policy(arena), *place, "--accept")[0] == 2


ROWS["accepted-link-out-of-the-project"] = Row(accept_link_out_of_the_project)


def revoked(end: Callable[[Arena], object]) -> Row:
    """Return the row of a key that the project revokes, which ann endorsed, and whose endorsement ends."""

    def attack(arena: Arena) -> None:
        arena.sim.trust(PAT, owner="pat")
        arena.sim.add("project", OTHER, TEXT, PAT)
        arena.sim.trust(PAT, "project", endorsed_by=ANN, extra="revoked = true\n")
        assert "revoked" in ask(arena).codes
        with chdir(arena.sim.project):
            end(arena)

    return Row(attack, at=f".ai/{OTHER}", options=())


PAST = datetime(2026, 6, 1, tzinfo=UTC)
ROWS |= {
    "endorser-of-a-revocation-rotates-her-key": revoked(lambda _: run("keys", "rotate", "--yes")),
    "endorser-of-a-revocation-expires": revoked(lambda arena: arena.sim.trust(ANN, owner="ann", not_after=PAST)),
}
